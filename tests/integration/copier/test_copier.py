"""The append engine between two real clusters: content, epochs, and who may append."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from support.flows.copier_flows import WAIT_S, Flow, copy_by_time
from support.records import kafka_records

from replication.copier.fetch import stalled_lso
from replication.state import FlowStatus, status_topic

pytestmark = pytest.mark.integration


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    """Make a flow of new topics: ``flow(2, 1)`` has two topics with two partitions and one."""

    def make(*partitions: int, configs=None) -> Flow:
        topics = {topic_name(): each for each in partitions}
        for name, count in topics.items():
            kafka_records.create_topic(source_cluster.bootstrap_servers, name, count, configs)
            kafka_records.create_topic(target_cluster.bootstrap_servers, name, count)
        return Flow(source_cluster, target_cluster, topics)

    return make


def produce(flow: Flow, count: int, seed: int = 1, config=None) -> None:
    for topic, partitions in flow.topics.items():
        kafka_records.produce(
            flow.here, topic, kafka_records.some_records(count, partitions, seed), config
        )


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_everything_arrives_as_it_was(flow, isolation):
    """BL-043 and BL-046."""
    both = flow(3, 1)
    (first, _) = both.topics
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        produce(both, 300, seed=len(codec), config={"compression.type": codec})
    edges = [
        (0, None, None, None, 1_700_000_000_000),
        (0, b"", b"", [("empty", b""), ("none", None)], 1),
        (1, b"k", None, [("twice", b"1"), ("twice", b"2")], 1_600_000_000_000),
        (2, b"k", b"without a time", None, -1),
    ]
    kafka_records.produce(both.here, first, edges)
    report = both.copy_all(isolation=isolation)
    assert report.outcome == "clean"
    assert report.records == 2 * 5 * 300 + 4
    assert report.takeovers == 0
    both.assert_equal(isolation)


def test_epochs_hand_over_without_a_marker(flow):
    """BL-053."""
    one = flow(2)
    for epoch in range(3):
        produce(one, 200, seed=epoch)
        assert one.copy_all(epoch=epoch).takeovers == 0
    one.assert_equal()
    (topic,) = one.topics
    offsets = [
        [each.offset for each in kafka_records.consume_all(c, topic)] for c in (one.here, one.to)
    ]
    assert offsets[0] == offsets[1]


def test_a_topic_with_log_append_time_keeps_its_timestamps(flow):
    """BL-043."""
    one = flow(1, configs={"message.timestamp.type": "LogAppendTime"})
    produce(one, 200, config={"compression.type": "lz4"})
    one.copy_all()
    (topic,) = one.topics
    expected = [each[2:6] for each in kafka_records.consume_all(one.here, topic)]
    assert [each[2:6] for each in kafka_records.consume_all(one.to, topic)] == expected


def a_sender(flow: Flow, topic: str) -> Producer:
    """Return a producer whose transactions a busy machine does not outlast."""
    where = {"bootstrap.servers": flow.here, "transactional.id": topic}
    sender = Producer({**where, "transaction.timeout.ms": 600_000, **kafka_records.QUIET})
    sender.init_transactions(90)
    return sender


def test_aborted_and_open_transactions_stay_behind(flow):
    """BL-066 and BL-068."""
    one = flow(1)
    (topic,) = one.topics
    sender = a_sender(one, topic)
    for number in range(12):
        sender.begin_transaction()
        for each in range(5):
            sender.produce(topic, b"%d-%d" % (number, each), partition=0)
        sender.flush(20)
        if number % 3:
            sender.abort_transaction(20)
        else:
            sender.commit_transaction(20)
    sender.begin_transaction()
    sender.produce(topic, b"open", partition=0)
    sender.flush(20)
    one.copy_all()
    values = [each.value for each in kafka_records.consume_all(one.to, topic)]
    assert values == [b"%d-%d" % (n, each) for n in range(0, 12, 3) for each in range(5)]
    sender.commit_transaction(20)
    one.copy_all(epoch=1)
    assert kafka_records.consume_all(one.to, topic)[-1].value == b"open"
    one.assert_equal()


def test_the_driver_ends_an_epoch_long_before_its_time(flow):
    one = flow(1)
    produce(one, 10)
    spec = one.spec()
    with one.copying(spec) as reports:
        one.wait_copied()
        one.end(replace(spec, epoch=-1))  # an epoch before this one
        time.sleep(0.3)
        assert not reports
        began = time.monotonic()
        one.end(spec)
        while not reports and time.monotonic() - began < WAIT_S:
            time.sleep(0.01)
        assert reports
    assert reports[0].outcome == "clean"


def test_a_newer_driver_ends_the_unit(flow):
    one = flow(1)
    produce(one, 10)
    with one.copying(one.spec(generation=3)) as reports:
        one.wait_copied()
        status = FlowStatus(one.name, generation=4, host="elsewhere", pid=7)
        one.store.write(status_topic(one.alias), status)
        deadline = time.monotonic() + WAIT_S
        while not reports and time.monotonic() < deadline:
            time.sleep(0.05)
        assert reports
        assert "elsewhere" in reports[0].outcome
    assert not one.anchors().popitem()[1].clean


def test_an_epoch_is_over_in_time_when_nothing_happens(flow):
    one = flow(1)
    began = time.monotonic()
    report = copy_by_time(one.spec(epoch_s=1.5))
    assert report.outcome == "clean"
    assert time.monotonic() - began < WAIT_S
    assert one.anchors().popitem()[1].clean


AS_A_WORKER = """
import pickle, sys
from replication.adapters.wire import connect
from replication.copier.host import copy_epoch
print(copy_epoch(pickle.load(sys.stdin.buffer), connect).outcome)
"""


def test_a_process_that_ends_between_epochs_leaves_without_a_word(flow):
    one = flow(1)
    produce(one, 10)
    spec, pipe = one.spec(), subprocess.PIPE
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", AS_A_WORKER]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as worker:
        try:
            worker.stdin.write(pickle.dumps(spec))
            worker.stdin.close()
            worker.stdin = None  # nothing more is written
            one.wait_copied()
            one.end(spec)
            assert worker.communicate(timeout=WAIT_S) == (b"clean\n", b"")
        finally:
            worker.kill()


def test_a_partition_that_an_open_transaction_holds_up_says_so(flow, monkeypatch):
    """BL-069."""
    monkeypatch.setattr(stalled_lso, "STALLED_AFTER_S", 0.5)
    one = flow(2)
    (topic,) = one.topics
    sender = a_sender(one, topic)
    sender.begin_transaction()
    sender.produce(topic, b"open", partition=0)
    sender.flush(20)
    stuck, free = one.partitions
    with one.copying(one.spec()):
        for number in range(8):
            kafka_records.produce(one.here, topic, [(p, b"k", b"%d" % number) for p in range(2)])
            time.sleep(0.2)
        output = one.wait_for(lambda found: "blocked" in found[stuck].reason, "it is said")
        assert "open transaction at offset 0" in output[stuck].reason
        assert (output[stuck].state, output[free].reason) == ("RUNNING", "")
        sender.abort_transaction(20)
        one.wait_copied()
        one.wait_for(lambda found: not found[stuck].reason, "it is over")
    one.assert_equal()
