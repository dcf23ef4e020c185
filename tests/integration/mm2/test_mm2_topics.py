"""MirrorMaker 2's internal topics on a real cluster."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from support.records import kafka_records

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.admin.kafka_errors import our_errors
from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.mm2.compacted_topic import CompactedTopic
from replication.mm2.heartbeats import HeartbeatPair
from replication.mm2.internal_topics_protocol import BY_KEY, InternalTopicRecord
from replication.mm2.progress import newest, positions
from replication.mm2.wire import Heartbeat
from replication.model import TopicPartition

pytestmark = pytest.mark.integration


@pytest.fixture
def client(target_cluster):
    return {"bootstrap.servers": target_cluster.bootstrap_servers}


class Refusing(KafkaAdmin):
    """A cluster that refuses to create topics, with one of the client's errors."""

    def __init__(self, client, code: int) -> None:
        super().__init__(client)
        self._code = code

    def create_topic(self, name, partitions, replication_factor, configs):
        with our_errors(f"creating topic {name}"):
            raise KafkaException(KafkaError(self._code))


def test_mu_01_mu_02_a_topic_is_made_once_with_one_compacted_partition(client, topic_name):
    name, admin = topic_name("internal"), KafkaAdmin(client)
    InternalTopicClient(client).ensure(name, 3)  # as many replicas as there are brokers
    InternalTopicClient(client).ensure(name, 3)
    assert admin.topics()[name].partitions == 1
    assert admin.topic_configs([name])[name] == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(KafkaError.TOPIC_ALREADY_EXISTS, id="MU-02, made meanwhile"),
        pytest.param(KafkaError.UNSUPPORTED_VERSION, id="MU-03"),
        pytest.param(KafkaError.CLUSTER_AUTHORIZATION_FAILED, id="MU-04"),
        pytest.param(KafkaError.TOPIC_AUTHORIZATION_FAILED, id="MU-05"),
    ],
)
def test_mu_03_mu_04_mu_05_who_may_not_create_takes_the_topic_for_there(client, topic_name, code):
    InternalTopicClient(client, Refusing(client, code)).ensure(topic_name("internal"), 1)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        pytest.param(KafkaError.INVALID_CONFIG, ClusterRejected, id="MU-06"),
        pytest.param(KafkaError.REQUEST_TIMED_OUT, ClusterUnavailable, id="MU-07"),
    ],
)
def test_mu_06_mu_07_other_refusals_are_errors(client, topic_name, code, error):
    with pytest.raises(error, match="creating topic internal"):
        InternalTopicClient(client, Refusing(client, code)).ensure(topic_name("internal"), 1)


def test_heartbeats_stand_in_mirrormakers_topic_with_their_own_time(client):
    topics = InternalTopicClient(client)
    HeartbeatPair("here", "there", CompactedTopic("heartbeats", 1, lambda: topics)).beat()
    (found,) = (
        each
        for each in kafka_records.consume_all(client["bootstrap.servers"], "heartbeats")
        if each.key == Heartbeat("here", "there", 0).key()
    )
    assert Heartbeat.parse(found.key, found.value).at_ms == found.timestamp
    assert (found.key, found.value) in topics.read("heartbeats", last=1000)


def test_positions_go_where_connect_looks_for_them(client, topic_name):
    topic = kafka_records.create_topic(client["bootstrap.servers"], topic_name("mm2-offsets"), 25)
    topics = InternalTopicClient(client)
    key = b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]'
    topics.write(
        topic,
        [InternalTopicRecord(key, b'{"offset":%d}' % each, partition=BY_KEY) for each in (1, 2)],
    )
    assert positions(newest(topics.read(topic)).values(), "A") == {TopicPartition("t", 0): 2}
    assert (
        len(
            {
                each.partition
                for each in kafka_records.consume_all(client["bootstrap.servers"], topic)
            }
        )
        == 1
    )


def test_positions_that_were_stored_in_transactions_count_when_these_are_committed(
    client, topic_name
):
    """So does MirrorMaker 2 with ``exactly.once.source.support``."""
    topic = kafka_records.create_topic(client["bootstrap.servers"], topic_name("mm2-offsets"))
    key = b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]'
    producer = Producer({**client, "transactional.id": topic})
    producer.init_transactions(30)
    ends = (
        producer.commit_transaction,
        producer.commit_transaction,
        producer.abort_transaction,
    )
    for offset, end in enumerate(ends, 1):
        producer.begin_transaction()
        producer.produce(topic, b'{"offset":%d}' % offset, key)
        producer.flush(30)
        end(30)
    producer.begin_transaction()  # it was killed in the middle of the next one
    producer.produce(topic, b'{"offset":4}', key)
    producer.flush(30)
    found = InternalTopicClient(client).read(topic)
    producer.abort_transaction(30)
    assert positions(newest(found).values(), "A") == {TopicPartition("t", 0): 2}


def test_a_topic_that_is_not_there_reads_as_nothing(client, topic_name):
    assert InternalTopicClient(client).read(topic_name("none")) == []
