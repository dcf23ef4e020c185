"""A source with replicas: read from one near us, and led by one that lacks records."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.flows.copier_flows import Flow
from support.records import kafka_records

from replication.adapters.wire import connect
from replication.model import TopicPartition

pytestmark = pytest.mark.integration

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


RACKS = {
    "broker.rack": "rack-{node}",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


@pytest.fixture(scope="module")
def brokers(kafka_cluster):
    return kafka_cluster("replicas", brokers=3, properties=RACKS)


@pytest.fixture
def source(brokers):
    brokers.start()  # whom another test has stopped
    return brokers


def on_brokers_1_and_2(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **kafka_records.QUIET})
    new = NewTopic(topic, 1, replica_assignment=[[1, 2]], config=UNCLEAN)
    admin.create_topics([new])[topic].result(30)


def test_records_that_a_new_leader_never_had_are_named_though_its_log_is_longer(
    source, target_cluster, topic_name
):
    topic = topic_name("unclean")
    on_brokers_1_and_2(source.bootstrap_servers, topic)
    kafka_records.create_topic(target_cluster.bootstrap_servers, topic)
    flow = Flow(source, target_cluster, {topic: 1})
    kafka_records.produce(flow.here, topic, [(0, b"k", b"both %d" % n) for n in range(10)])
    source.stop_broker(2)
    kafka_records.produce(flow.here, topic, [(0, b"k", b"only 1: %d" % n) for n in range(10)])
    flow.copy_all()
    copied = flow.anchors()[TopicPartition(topic, 0)]
    assert (copied.source, copied.source_epoch >= 0) == (20, True)
    source.stop_broker(1)
    source.start_broker(2)
    kafka_records.produce(flow.here, topic, [(0, b"k", b"only 2: %d" % n) for n in range(30)])
    assert flow.settle(flow.spec(epoch=1)).not_running == 1
    anchor = flow.anchors()[TopicPartition(topic, 0)]
    assert anchor.state == "SOURCE_TRUNCATED"
    assert "[10, 20)" in anchor.reason
    assert len(kafka_records.consume_all(flow.to, topic)) == 20


def test_a_replica_in_our_rack_is_read_and_the_leader_again_when_it_fails(
    source, target_cluster, topic_name
):
    topic, asked = topic_name("near"), []
    on_brokers_1_and_2(source.bootstrap_servers, topic)
    kafka_records.create_topic(target_cluster.bootstrap_servers, topic)
    flow = Flow(source, target_cluster, {topic: 1})

    def connected(properties, client_id, verify):
        network = connect(properties, client_id, verify)
        fetch = network.begin_fetch

        def received(node, entries, options, into, answer):
            if options.line == "fetch":
                asked.append(node)
            fetch(node, entries, options, into, answer)

        network.begin_fetch = received
        return network

    def produce(stem: bytes) -> None:
        kafka_records.produce(
            flow.here, topic, [(0, b"k", b"%s %d" % (stem, n)) for n in range(20)]
        )

    with flow.copying(flow.spec(client_rack="rack-2"), connected):
        produce(b"all up")
        flow.wait_copied()
        assert (asked[0], asked[-1]) == (1, 2)
        source.kill(2)
        produce(b"one down")
        flow.wait_copied()
        assert asked[-1] == 1
    flow.assert_equal()
