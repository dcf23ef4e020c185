"""The start position of a new flow with ``copy.start = latest``."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import kafka_records
from support.copier_flows import Flow

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


def test_a_flow_that_copied_before_begins_new_partitions_at_their_start(flow, topic_name):
    flow.copy_all(generation=1, start="latest")
    later = topic_name("later")
    for servers in (flow.here, flow.to):
        kafka_records.create_topic(servers, later)
    kafka_records.produce(flow.here, later, kafka_records.some_records(5))
    flow.topics[later] = 1
    flow.copy_all(generation=2, start="latest")
    assert len(kafka_records.consume_all(flow.to, later)) == 5
