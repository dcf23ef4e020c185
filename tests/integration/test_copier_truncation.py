"""A source that elects a leader without the newest records, as it may if it is told to."""

from __future__ import annotations

import pytest
import support
from confluent_kafka.admin import AdminClient, NewTopic
from copying import Flow, copy

from replication.model import TopicPartition

pytestmark = pytest.mark.integration

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


def on_brokers_1_and_2(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **support.QUIET})
    new = NewTopic(topic, 1, replica_assignment=[[1, 2]], config=UNCLEAN)
    admin.create_topics([new])[topic].result(30)


def test_records_that_a_new_leader_never_had_are_named_though_its_log_is_longer(
    kafka_cluster, target_cluster, topic_name
):
    source, topic = kafka_cluster("unclean", brokers=3), topic_name("unclean")
    on_brokers_1_and_2(source.bootstrap_servers, topic)
    support.create_topic(target_cluster.bootstrap_servers, topic)
    flow = Flow(source, target_cluster, {topic: 1})
    support.produce(flow.here, topic, [(0, b"k", b"both %d" % n) for n in range(10)])
    source.stop_broker(2)
    support.produce(flow.here, topic, [(0, b"k", b"only 1: %d" % n) for n in range(10)])
    flow.copy_all()
    copied = flow.anchors()[TopicPartition(topic, 0)]
    assert (copied.source, copied.source_epoch >= 0) == (20, True)
    source.stop_broker(1)
    source.start_broker(2)
    support.produce(flow.here, topic, [(0, b"k", b"only 2: %d" % n) for n in range(30)])
    assert copy(flow.spec(epoch=1, epoch_s=2.5)).not_running == 1
    anchor = flow.anchors()[TopicPartition(topic, 0)]
    assert anchor.state == "SOURCE_TRUNCATED"
    assert "[10, 20)" in anchor.reason
    assert len(support.consume_all(flow.to, topic)) == 20
