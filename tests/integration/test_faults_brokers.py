"""Three brokers on the target, and too few replicas in sync for a while."""

from __future__ import annotations

import time

import pytest
import support
from copying import Flow, feeding

from replication.model import TopicPartition

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SOON_MISSED = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture(scope="module")
def three(kafka_cluster):
    return kafka_cluster("faults", brokers=3, heap="256m", properties=SOON_MISSED)


def test_records_wait_while_too_few_replicas_are_in_sync(source_cluster, three, topic_name):
    topic = support.create_topic(source_cluster.bootstrap_servers, topic_name())
    support.create_topic(
        three.bootstrap_servers, topic, 1, {"min.insync.replicas": "3"}, replication_factor=3
    )
    flow = Flow(source_cluster, three, {topic: 1}, replicas=3)
    with flow.copying(flow.spec()) as reports:
        with feeding(flow):
            flow.wait_for(lambda found: sum(e.records for e in found.values()) > 50, "it copies")
            three.stop_broker(2)
            time.sleep(4)
        copied = len(support.consume_all(flow.to, topic))
        assert copied < flow.fed[TopicPartition(topic, 0)], "the target took what it must refuse"
        three.start_broker(2)
        flow.wait_copied()
    assert reports[0].outcome == "clean"
    flow.assert_equal()
