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
from replication.adapters.admin.partition_leaders import PartitionLeaders
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


@pytest.mark.parametrize("topics", [(), (TopicPartition("orders", 0),)], ids=["none", "one"])
@pytest.mark.parametrize(
    ("call", "doing"),
    [
        (["cluster_id"], "reading the cluster id"),
        (["broker_count"], "counting the brokers"),
        (["broker_default", "message.max.bytes"], "listing the brokers"),
    ],
)
def test_a_cluster_without_a_broker_that_is_alive_is_unavailable(topics, call, doing):
    with FakeBroker(*topics) as broker:
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


@pytest.fixture
def named():
    """Return what asks a broker with two topics, and says which ones its request named."""
    parts = TopicPartition("orders", 0), TopicPartition("stock", 0), TopicPartition("stock", 1)
    with FakeBroker(*parts) as broker:
        admin = KafkaAdmin({"bootstrap.servers": broker.address})

        def ask() -> set[str] | None:
            assert admin.cluster_id() == "fake"
            topics = broker.requests(MetadataRequest)[-1].topics
            return None if topics is None else {each.name for each in topics}

        ask.broker = broker
        yield ask


def test_a_topic_that_our_user_sees_is_named_once_one_is_known(named):
    """A broker with an authorizer logs each request for a topic without the right to see it."""
    assert named() is None  # all
    for _ in range(2):
        assert named() == {"orders"}  # the smallest


def test_another_topic_is_named_once_the_first_one_is_gone(named):
    named()
    del named.broker.logs[TopicPartition("orders", 0)]
    assert named() == {"orders"}  # it learns that this one is gone
    assert named() is None
    assert named() == {"stock"}


def test_what_it_tells_of_leaders_is_known(named, monkeypatch):
    learnt = []
    monkeypatch.setattr(PartitionLeaders, "learn", lambda *told: learnt.extend(told[-1]))
    named()
    assert sorted(learnt) == ["orders", "stock"]


def test_all_are_asked_for_where_our_user_sees_no_topic(named):
    named.broker.logs.clear()
    for _ in range(2):
        assert named() is None
