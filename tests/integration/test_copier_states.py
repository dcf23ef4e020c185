"""States in which a person must act: each names its cause, and stops only its own partition."""

from __future__ import annotations

import time

import pytest
import support
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from copying import Flow, copy

from replication.model import TopicPartition
from replication.state import Anchor, anchors_topic

pytestmark = pytest.mark.integration

LIMIT = {"max.message.bytes": "20000"}
LARGE = b"x" * 50_000


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    def make(partitions: int = 1, configs=None) -> Flow:
        topic = topic_name()
        support.create_topic(source_cluster.bootstrap_servers, topic, partitions)
        support.create_topic(target_cluster.bootstrap_servers, topic, partitions, configs)
        return Flow(source_cluster, target_cluster, {topic: partitions})

    return make


def the(flow: Flow) -> str:
    (topic,) = flow.topics
    return topic


def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, **support.QUIET})


def feed(flow: Flow, *values: bytes, partition: int = 0) -> None:
    support.produce(flow.here, the(flow), [(partition, b"k", each) for each in values])


def recreate(bootstrap: str, topic: str) -> None:
    client = admin(bootstrap)
    client.delete_topics([topic])[topic].result(20)
    while topic in client.list_topics(timeout=10).topics:
        time.sleep(0.05)
    support.create_topic(bootstrap, topic)


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    return [each.value for each in support.consume_all(bootstrap, topic)]


def state(flow: Flow, partition: int = 0) -> tuple[str, str]:
    anchor = flow.anchors()[TopicPartition(the(flow), partition)]
    return anchor.state, anchor.reason


def told(flow: Flow) -> list[str]:
    """Return the states that were ever written, in order, each once in a row."""
    tail = flow.store.tail(anchors_topic(flow.alias))
    try:
        states = [each.state for each in tail.catch_up() if isinstance(each, Anchor)]
    finally:
        tail.close()
    return [each for each, before in zip(states, [None, *states], strict=False) if each != before]


def short(flow: Flow, epoch: int):
    """Run a short epoch."""
    return copy(flow.spec(epoch=epoch, epoch_s=2.5))


def test_a_source_topic_that_was_made_anew_is_not_copied_over_the_old_one(flow):
    one = flow()
    feed(one, b"old")
    one.copy_all()
    recreate(one.here, the(one))
    feed(one, b"new 1", b"new 2")
    for epoch in (1, 2):
        assert short(one, epoch).not_running == 1
        assert state(one)[0] == "SOURCE_RECREATED"
    assert values(one.to, the(one)) == [b"old"]


def test_a_source_topic_made_anew_while_it_is_copied_is_noticed(flow):
    one = flow()
    feed(one, b"old")
    with one.copying(one.spec()) as reports:
        one.wait_copied()
        recreate(one.here, the(one))
        feed(one, b"new")
        one.wait_for(lambda _: state(one)[0] == "SOURCE_RECREATED", "it is noticed")
    assert reports[0].not_running == 1
    assert values(one.to, the(one)) == [b"old"]


def test_a_lost_range_is_named_and_stays_so_until_a_person_acts(flow):
    one = flow()
    feed(one, *[b"%d" % each for each in range(10)])
    one.copy_all()
    feed(one, *[b"%d" % each for each in range(10, 20)])
    gone = ClientPartition(the(one), 0, 15)
    client = admin(one.here)  # its calls end with it
    for answer in client.delete_records([gone]).values():
        answer.result(20)
    for epoch in (1, 2):
        assert short(one, epoch).not_running == 1
        assert state(one) == ("LOST_RANGE", "the source no longer has offsets [10, 15)")
    assert told(one)[-2:] == ["RUNNING", "LOST_RANGE"]  # not a moment of RUNNING in epoch 2
    assert values(one.to, the(one)) == [b"%d" % each for each in range(10)]


def test_a_batch_that_is_too_large_stops_its_partition_only_until_it_is_allowed(flow):
    one = flow(2, LIMIT)
    feed(one, b"a", partition=0)
    one.copy_all()
    feed(one, LARGE, partition=0)
    feed(one, b"behind it", partition=0)
    feed(one, *[b"%d" % each for each in range(50)], partition=1)
    for epoch in (1, 2):
        assert short(one, epoch).not_running == 1
    assert state(one, 0)[0] == "REFUSED"
    assert "max.message.bytes" in state(one, 0)[1]
    assert state(one, 1) == ("RUNNING", "")
    assert [e for e in told(one) if e != "RUNNING"]
    assert sorted(values(one.to, the(one))) == sorted([b"a", *(b"%d" % n for n in range(50))])
    allow(one)
    report = short(one, 3)
    assert (report.not_running, report.takeovers) == (0, 0)
    one.assert_equal()


def allow(flow: Flow) -> None:
    entry = ConfigEntry("max.message.bytes", "1000000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, the(flow), incremental_configs=[entry])
    client = admin(flow.to)  # its calls end with it
    for answer in client.incremental_alter_configs([resource]).values():
        answer.result(20)


def test_nothing_lands_behind_a_first_batch_that_is_refused(flow):
    one = flow(1, LIMIT)
    feed(one, LARGE)
    for each in range(30):
        feed(one, b"%d" % each)
    assert short(one, 0).not_running == 1
    assert state(one)[0] == "REFUSED"
    assert values(one.to, the(one)) == []
    allow(one)
    one.copy_all(epoch=1)
    one.assert_equal()


def test_a_target_topic_that_was_made_anew_is_left_alone(flow):
    one = flow()
    feed(one, b"a", b"b")
    one.copy_all()
    recreate(one.to, the(one))
    feed(one, b"c")
    for epoch in (1, 2):
        assert short(one, epoch).not_running == 1
        assert state(one) == ("TARGET_RESET", "the target topic was deleted and made anew")
    assert values(one.to, the(one)) == []


def test_a_target_topic_made_anew_while_it_is_written_stops_its_partition(flow):
    one = flow()
    feed(one, b"a", b"b")
    with one.copying(one.spec()) as reports:
        one.wait_copied()
        recreate(one.to, the(one))
        feed(one, b"c")
        one.wait_for(lambda _: state(one)[0] == "TARGET_RESET", "it is noticed")
        feed(one, b"d")
        time.sleep(0.5)
    assert reports[0].not_running == 1
    assert len(values(one.to, the(one))) <= 1  # what came before the answer that told


def test_a_topic_with_a_small_limit_gets_its_small_batches_unmerged(flow):
    one = flow(1, {"max.message.bytes": "300"})
    for each in range(40):
        feed(one, b"%d" % each)
    report = one.copy_all()
    assert (report.outcome, report.not_running) == ("clean", 0)
    one.assert_equal()
