"""Three brokers on one side: restarted one by one, without a leader, or with too few replicas."""

from __future__ import annotations

import time

import pytest
from confluent_kafka.admin import AdminClient
from support.flows.copier_flows import Flow, feeding
from support.flows.spark_driver import wait_for
from support.records import kafka_records

from replication.model import TopicPartition

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SOON_MISSED = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture(scope="module")
def three(kafka_cluster):
    return kafka_cluster("faults", brokers=3, heap="256m", properties=SOON_MISSED)


def test_records_wait_while_too_few_replicas_are_in_sync(source_cluster, three, topic_name):
    """BL-108."""
    topic = kafka_records.create_topic(source_cluster.bootstrap_servers, topic_name())
    kafka_records.create_topic(
        three.bootstrap_servers, topic, 1, {"min.insync.replicas": "3"}, replication_factor=3
    )
    flow = Flow(source_cluster, three, {topic: 1}, replicas=3)
    with flow.copying(flow.spec()) as reports:
        with feeding(flow):
            flow.wait_for(lambda found: sum(e.records for e in found.values()) > 50, "it copies")
            three.stop_broker(2)
            time.sleep(4)
        copied = sum(each.records for each in flow.anchors().values())
        assert copied < flow.fed[TopicPartition(topic, 0)], "the target took what it must refuse"
        three.start_broker(2)
        flow.wait_copied()
    assert reports[0].outcome == "clean"
    flow.assert_equal()


@pytest.mark.parametrize("end", ["source", "target"])
def test_brokers_restarted_one_by_one_under_load_cost_nothing(
    source_cluster, target_cluster, three, topic_name, end
):
    """BL-107."""
    flow = a_flow((source_cluster, target_cluster), three, topic_name(), end)
    with flow.copying(flow.spec()) as reports, feeding(flow, 500):
        for broker in (1, 2, 3):
            three.stop_broker(broker)
            three.start_broker(broker)
            flow.wait_moved(200)
    assert reports[0].outcome == "clean"
    flow.copy_all(epoch=1)
    flow.assert_equal()


@pytest.mark.parametrize("end", ["source", "target"])
def test_a_partition_without_a_leader_waits_and_the_others_go_on(
    source_cluster, target_cluster, three, topic_name, end
):
    flow = a_flow((source_cluster, target_cluster), three, topic_name(), end, factor=1)
    wait_for(lambda: min(leaders_of(three.bootstrap_servers, *flow.topics).values()) > 0)
    leaders = leaders_of(three.bootstrap_servers, *flow.topics)
    gone = TopicPartition(next(iter(flow.topics)), 0)
    other = next(each for each in flow.partitions if leaders[each] != leaders[gone])
    with flow.copying(flow.spec()) as reports:
        send(flow, gone, other, value=b"before")
        flow.wait_copied([gone, other])
        three.stop_broker(leaders[gone])
        if end == "target":  # nobody asks for a leader before there is something to append
            send(flow, gone, value=b"held back")
        flow.wait_for(lambda found: "leader" in found[gone].reason, "it says so")
        send(flow, other, value=b"meanwhile")
        flow.wait_copied([other])
        three.start_broker(leaders[gone])
        send(flow, gone, value=b"after")
        flow.wait_copied([gone])
    assert reports[0].outcome == "clean"
    flow.assert_equal()


def a_flow(pair, three, topic: str, end: str, factor: int = 3) -> Flow:
    clusters = {"source": pair[0], "target": pair[1], end: three}
    for cluster in (clusters["source"], clusters["target"]):
        copies = factor if cluster is three else 1
        kafka_records.create_topic(cluster.bootstrap_servers, topic, 3, replication_factor=copies)
    replicas = 3 if end == "target" else 1
    return Flow(clusters["source"], clusters["target"], {topic: 3}, replicas=replicas)


def send(flow: Flow, *partitions: TopicPartition, value: bytes) -> None:
    for each in partitions:
        kafka_records.produce(flow.here, each.topic, [(each.partition, b"k", value)])


def leaders_of(bootstrap: str, topic: str) -> dict[TopicPartition, int]:
    found = AdminClient({"bootstrap.servers": bootstrap, **kafka_records.QUIET}).list_topics(
        topic, 10
    )
    listed = found.topics[topic].partitions.values()
    return {TopicPartition(topic, each.id): each.leader for each in listed}
