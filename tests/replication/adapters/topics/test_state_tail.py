"""A state topic that is followed while its cluster does not answer for a moment."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer import FetchRequest
from support.network.fake_broker import FakeBroker

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics import state_tail
from replication.adapters.topics.state_tail import StateTail
from replication.client.error_codes import ErrorCode
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.records.codec import encode, plain_record
from replication.state import FlowStatus, anchors_topic, status_topic

STATUS, ANCHORS = TopicPartition(status_topic("A"), 0), TopicPartition(anchors_topic("A"), 0)


class Stage:
    """A tail of two topics; of a topic in ``held`` no record from that offset on arrives."""

    def __init__(self, broker: FakeBroker) -> None:
        self.broker, self.held, self.denied = broker, {}, False
        broker.lies[FetchRequest] = self._fetched
        client = {"bootstrap.servers": broker.address}
        self.tail = StateTail(client, KafkaAdmin(client), STATUS.topic, ANCHORS.topic)

    def add(self, generation: int, where: TopicPartition = STATUS) -> None:
        log, record = self.broker.logs[where], FlowStatus("A->B", generation=generation)
        log.append(bytes(encode([plain_record(log.end, record.key(), record.value())])))

    def _fetched(self, request, response):
        for asked, told in zip(request.topics, response.responses, strict=True):
            for wanted, found in zip(asked.partitions, told.partitions, strict=True):
                if (end := self.held.get(told.topic)) is not None:
                    log = self.broker.logs[TopicPartition(told.topic, 0)]
                    found.records = b"".join(log.batches[wanted.fetch_offset : end])
                if self.denied and told.topic == ANCHORS.topic:
                    found.error_code, found.records = ErrorCode.TOPIC_AUTHORIZATION_FAILED, b""
        return response

    def generations(self) -> list[int]:
        return [each.generation for each in self.tail.catch_up()]


@pytest.fixture
def stage():
    with FakeBroker(STATUS, ANCHORS) as broker:
        made = Stage(broker)
        yield made
        made.tail.close()


def test_what_was_read_before_a_call_failed_is_returned_by_the_next_one(stage, monkeypatch):
    """A driver that never heard of a pause would copy on, a failover leave groups behind."""
    stage.add(1)
    stage.add(2)
    stage.held[STATUS.topic] = 1
    with monkeypatch.context() as soon:
        soon.setattr(state_tail, "_PATIENCE_S", 1.0)
        with pytest.raises(ClusterUnavailable, match="no response in time"):
            stage.generations()
    stage.held.clear()
    assert stage.generations() == [1, 2]
    assert stage.generations() == []


def test_what_comes_with_an_error_of_another_topic_is_returned_by_the_next_call(stage):
    for each in range(1, 4):
        stage.add(each)
    stage.add(4, ANCHORS)
    stage.denied = True
    with pytest.raises(ClusterRejected):
        stage.generations()
    stage.denied = False
    assert sorted(stage.generations()) == [1, 2, 3, 4]
