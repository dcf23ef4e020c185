"""Copying by a user without ACLs for transactional ids, who gets them later."""

from __future__ import annotations

import pytest
from support.flows.copier_flows import Flow, kill, start_unit
from support.records import kafka_records

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.client.acl_values import PREFIXED, TRANSACTIONAL_ID, Resource
from replication.model import Mode

pytestmark = pytest.mark.integration

SLOW = 60_000  # bytes a second: there is time to kill a unit while it copies


def values(bootstrap, topic):
    found = {0: [], 1: []}
    for each in kafka_records.consume_all(bootstrap, topic):
        found[each.partition].append(each.value)
    return found


def copy_and_die(flow, tmp_path, generation, **more):
    """Let a unit copy something and kill it; return how many records followed its last anchors."""
    began = sum(each.records for each in flow.anchors().values())
    process = start_unit(flow.spec(generation, bytes_per_second=SLOW, **more), tmp_path)
    flow.wait_for(
        lambda anchors: sum(each.records for each in anchors.values()) > began + 300, "it copies"
    )
    kill(process)
    anchors = flow.anchors()
    assert {each.mode for each in anchors.values()} == {Mode.AT_LEAST_ONCE}
    end_offsets = KafkaAdmin({"bootstrap.servers": flow.to}).end_offsets(flow.partitions)
    return sum(end_offsets[each] - anchors[each].target for each in flow.partitions)


def test_without_transactional_ids_only_what_followed_the_anchors_comes_again(
    source_cluster, guarded_clusters, topic_name, tmp_path
):
    guarded = guarded_clusters[1]
    topic, target = topic_name(), {"target": guarded.login()}
    for each in (source_cluster, guarded.cluster):
        kafka_records.create_topic(each.bootstrap_servers, topic, 2)
    topics = [(Resource("topic", "*"), "ALL")]
    guarded.allow_only(topics)
    flow = Flow(source_cluster, guarded.cluster, {topic: 2})

    def feed(first: int, count: int) -> None:
        numbers = range(first, first + count)
        kafka_records.produce(
            flow.here, topic, [(n % 2, None, b"%060d" % n, None, n + 1) for n in numbers]
        )

    feed(0, 8000)
    repeats = copy_and_die(flow, tmp_path, 1, **target)
    repeats += copy_and_die(flow, tmp_path, 2, **target)
    report = flow.copy_all(3, **target)
    assert (report.outcome, report.at_least_once) == ("clean", 2)
    assert_in_order(flow, topic, repeats)

    feed(8000, 4000)
    repeats += copy_and_die(flow, tmp_path, 4, **target)
    ids = Resource(TRANSACTIONAL_ID, "isthmus.", PREFIXED)
    guarded.allow_only([*topics, (ids, "WRITE"), (ids, "DESCRIBE")])
    report = flow.copy_all(5, **target)
    assert (report.outcome, report.at_least_once) == ("clean", 0)
    assert {each.mode for each in flow.anchors().values()} == {Mode.APPEND}
    assert_in_order(flow, topic, repeats)


def assert_in_order(flow, topic, repeats):
    """Compare what came first with the source, and count what came again."""
    expected, found = values(flow.here, topic), values(flow.to, topic)
    assert {n: list(dict.fromkeys(each)) for n, each in found.items()} == expected
    assert sum(map(len, found.values())) - sum(map(len, expected.values())) <= repeats
