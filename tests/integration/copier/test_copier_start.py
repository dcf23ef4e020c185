"""The start position of a new flow with ``copy.start = latest``."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from support.flows.copier_flows import Flow
from support.records import kafka_records

pytestmark = pytest.mark.integration


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name) -> Flow:
    topic = topic_name("start")
    for cluster in (source_cluster, target_cluster):
        kafka_records.create_topic(cluster.bootstrap_servers, topic)
    kafka_records.produce(source_cluster.bootstrap_servers, topic, kafka_records.some_records(20))
    return Flow(source_cluster, target_cluster, {topic: 1})


def copied(flow: Flow) -> int:
    (topic,) = flow.topics
    return len(kafka_records.consume_all(flow.to, topic))


def test_what_was_there_before_the_first_start_stays_behind(flow):
    """BL-060."""
    flow.copy_all(start="latest")
    assert copied(flow) == 0


def test_a_topic_born_after_the_start_is_copied_from_its_first_record(flow):
    """BL-060."""
    plans = tuple(replace(each, created_later=True) for each in flow.spec().partitions)
    flow.copy_all(start="latest", partitions=plans)
    assert copied(flow) == 20


def test_a_partition_that_is_placed_late_begins_at_the_flows_first_start(flow):
    """Its records have the times 1_700_000_000_000 ms and the following ones."""
    first = 1_700_000_000_000 + 12
    plans = tuple(replace(each, since_ms=first) for each in flow.spec().partitions)
    flow.copy_all(start="latest", partitions=plans)
    (topic,) = flow.topics
    here = [each.content for each in kafka_records.consume_all(flow.here, topic)]
    assert [each.content for each in kafka_records.consume_all(flow.to, topic)] == here[12:]


def test_old_records_of_a_topic_that_the_first_listing_lacked_stay_behind(flow):
    now_ms = int(time.time() * 1000)
    plans = tuple(replace(each, since_ms=now_ms) for each in flow.spec().partitions)
    flow.copy_all(start="latest", partitions=plans)
    assert copied(flow) == 0


def test_a_new_driver_does_not_take_what_has_no_position_for_created_later(flow, topic_name):
    flow.copy_all(generation=1, start="latest")
    (first,) = flow.topics
    old = topic_name("old")
    for servers in (flow.here, flow.to):
        kafka_records.create_topic(servers, old)
    kafka_records.produce(flow.here, old, kafka_records.some_records(5))
    flow.topics[old] = 1
    flow.copy_all(generation=2, start="latest")
    assert kafka_records.consume_all(flow.to, old) == []
    assert kafka_records.consume_all(flow.to, first) == []
