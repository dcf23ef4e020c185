"""State topics without a leader, or that may not be seen: nobody takes them for empty ones."""

from __future__ import annotations

import pytest
from kafka.protocol.metadata import MetadataRequest
from support.network.fake_broker import NODE, FakeBroker
from support.settings.configs import a_flow

from orchestration.flows.kafka_clients import FollowingStore
from orchestration.recovery.operator import Operator
from replication.adapters.topics.state_store import StateStore
from replication.client.error_codes import ErrorCode
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.records.codec import encode, plain_record
from replication.state import Operation, status_topic

STATUS = TopicPartition(status_topic("A"), 0)
OPEN = Operation("A->B", "f1", "failover", "done", writable="B")


@pytest.fixture
def broker():
    with FakeBroker(STATUS) as made:
        made.logs[STATUS].append(bytes(encode([plain_record(0, OPEN.key(), OPEN.value())])))
        yield made


@pytest.fixture
def store(broker):
    made = StateStore({"bootstrap.servers": broker.address}, 1)
    yield made
    made.close()


def operator_reads(store):
    operator = Operator(a_flow(), store, print)
    try:
        return {each.key(): each for each in operator.records()}
    finally:
        operator.close()


READERS = {
    "store": lambda store: store.read(STATUS.topic),
    "look": lambda store: FollowingStore(store).read(STATUS.topic),
    "operator": operator_reads,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_topic_without_a_leader_does_not_read_as_empty(broker, store, reader):
    """That "no records" would say: B is not open for clients."""
    broker.leader = -1
    told = f"reading {STATUS.topic} at {broker.address}: it has no leader"
    with pytest.raises(ClusterUnavailable, match=told):
        READERS[reader](store)
    broker.leader = NODE
    assert READERS[reader](store) == {OPEN.key(): OPEN}


@pytest.mark.parametrize("reader", READERS)
def test_a_topic_that_is_not_there_reads_as_empty(broker, store, reader):
    del broker.logs[STATUS]
    assert READERS[reader](store) == {}


@pytest.mark.parametrize("reader", READERS)
def test_a_topic_that_may_not_be_seen_does_not_read_as_empty(broker, store, reader):
    def denied(_, response):
        for each in response.topics:
            each.error_code, each.partitions = ErrorCode.TOPIC_AUTHORIZATION_FAILED, []
        return response

    broker.lies[MetadataRequest] = denied
    with pytest.raises(ClusterRejected, match=f"reading {STATUS.topic} at .*: not authorized"):
        READERS[reader](store)


def test_what_a_former_client_learns_late_is_not_known_to_its_successor(broker, store):
    """The successor would be asked about leaders that it has to search for."""
    checked = store._admin._checked
    former = checked._clients.get()
    checked.reconnect()
    successor = checked._clients.get()
    assert checked.led(former, [STATUS]) == [STATUS]
    asked = len(broker.requests(MetadataRequest))
    assert checked.led(successor, [STATUS]) == [STATUS]
    assert len(broker.requests(MetadataRequest)) > asked
