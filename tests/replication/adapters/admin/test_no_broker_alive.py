"""A cluster that answers and lists no broker that is alive, as a broker does right after its start.

librdkafka ends the process at such an answer to DescribeCluster (decision 0033), so a process of
its own asks.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from kafka.protocol.metadata import MetadataRequest
from support.network.fake_broker import FakeBroker

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import TopicPartition

ASKED = """
import sys
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.errors import ClusterUnavailable

admin = KafkaAdmin({"bootstrap.servers": sys.argv[1]})
try:
    print(getattr(admin, sys.argv[2])(*sys.argv[3:]))
except ClusterUnavailable as error:
    print(error)
"""


def without_brokers(_request, response):
    response.brokers = []
    return response


@pytest.mark.parametrize(
    ("call", "doing"),
    [
        (["cluster_id"], "reading the cluster id"),
        (["broker_count"], "counting the brokers"),
        (["broker_default", "message.max.bytes"], "listing the brokers"),
    ],
)
def test_a_cluster_without_a_broker_that_is_alive_is_unavailable(call, doing):
    with FakeBroker() as broker:
        broker.lies[MetadataRequest] = without_brokers
        asked = subprocess.run(
            [sys.executable, "-c", ASKED, broker.address, *call],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert asked.returncode == 0, asked.stderr
    assert f"{doing} at {broker.address}: it lists no broker that is alive" in asked.stdout


def test_what_names_no_topic_either_is_unavailable_too():
    with FakeBroker() as broker:
        broker.lies[MetadataRequest] = without_brokers
        asked = subprocess.run(
            [sys.executable, "-c", ASKED, broker.address, "topic_names"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert f"listing the topics at {broker.address}" in asked.stdout, asked.stderr


def test_a_topic_that_our_user_sees_is_named_once_one_is_known():
    """A broker with an authorizer logs each request for a topic without the right to see it."""
    with FakeBroker(TopicPartition("orders", 0)) as broker:
        admin = KafkaAdmin({"bootstrap.servers": broker.address})
        for _ in range(2):
            assert admin.cluster_id() == "fake"
            admin.topic_names()
    named = [each.topics for each in broker.requests(MetadataRequest)]
    first, last = ({topic.name for topic in topics or ()} for topics in (named[0], named[-2]))
    assert first <= {"isthmus-probe.internal"}
    assert last == {"orders"}
