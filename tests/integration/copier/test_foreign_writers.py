"""Foreign producers on a target partition: reported, halted by policy, allowed by merges."""

from __future__ import annotations

import time

import pytest
from support.flows.copier_flows import Flow
from support.records import kafka_records

from replication.model import Choice, PartitionPlan
from replication.settings.state_policies import Policies

pytestmark = pytest.mark.integration


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    topic = topic_name()
    kafka_records.create_topic(source_cluster.bootstrap_servers, topic)
    kafka_records.create_topic(target_cluster.bootstrap_servers, topic)
    return Flow(source_cluster, target_cluster, {topic: 1})


def the(flow: Flow) -> str:
    (topic,) = flow.topics
    return topic


def test_a_foreign_writer_is_named_and_halts_the_partition_where_the_policy_says_so(flow):
    policies = Policies(target_foreign="stop")
    with flow.copying(flow.spec(policies=policies)):
        _interleave(flow)
        anchors = flow.wait_for(_foreign, "the foreign writer is noticed")
    (anchor,) = anchors.values()
    assert "foreign producer without a producer id" in anchor.reason
    kafka_records.produce(flow.here, the(flow), [(0, b"k", b"not copied")])
    with flow.copying(flow.spec(epoch=1, policies=policies)):
        time.sleep(1.5)
    assert b"not copied" not in values(flow)
    (part,) = flow.partitions
    answer = Choice("TARGET_FOREIGN", anchor.source, "continue")
    plan = (PartitionPlan(part, part, decision=answer),)
    flow.copy_all(epoch=2, policies=policies, partitions=plan)
    assert values(flow)[-1] == b"not copied"


def test_by_default_a_foreign_writer_is_reported_and_copying_goes_on(flow):
    with flow.copying(flow.spec()):
        _interleave(flow)
        flow.wait_for(lambda found: "foreign producer" in _only(found).reason, "it is reported")
        kafka_records.produce(flow.here, the(flow), [(0, b"k", b"last")])
        flow.wait_copied()
    assert _only(flow.anchors()).state == "RUNNING"
    assert values(flow)[-1] == b"last"


def test_another_flow_of_ours_is_no_foreign_writer(flow):
    other = Flow(flow.source, flow.target, flow.topics)  # under another alias
    policies = Policies(target_foreign="stop")
    with (
        flow.copying(flow.spec(policies=policies)) as reports,
        other.copying(other.spec(policies=policies)) as others,
    ):
        for number in range(20):
            kafka_records.produce(flow.here, the(flow), [(0, b"k", b"%d" % number)])
            time.sleep(0.1)
        flow.wait_copied()
        other.wait_copied()
        time.sleep(1.5)
    assert (reports[0].not_running, others[0].not_running) == (0, 0)
    assert len(values(flow)) == 40


def _interleave(flow: Flow) -> None:
    kafka_records.produce(flow.here, the(flow), [(0, b"k", b"ours")])
    flow.wait_copied()
    kafka_records.produce(flow.to, the(flow), [(0, b"k", b"theirs")], {"enable.idempotence": False})
    kafka_records.produce(flow.here, the(flow), [(0, b"k", b"ours again")])


def _foreign(anchors) -> bool:
    return _only(anchors).state == "TARGET_FOREIGN"


def _only(anchors):
    (anchor,) = anchors.values()
    return anchor


def values(flow: Flow) -> list[bytes | None]:
    return [each.value for each in kafka_records.consume_all(flow.to, the(flow))]
