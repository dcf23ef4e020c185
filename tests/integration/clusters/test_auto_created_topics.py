"""Brokers with ``auto.create.topics.enable``, which is the default."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from confluent_kafka import Producer

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.adapters.topics.state_store import StateStore
from replication.errors import ReplicationError
from replication.mm2.internal_topics_protocol import InternalTopicRecord
from replication.model import TopicPartition
from replication.state import FlowStatus

pytestmark = pytest.mark.integration


def test_bl_047_no_broker_makes_a_topic_because_we_write_to_it_or_ask_about_it(kafka_cluster):
    cluster = kafka_cluster("making", properties={"auto.create.topics.enable": "true"})
    client = {"bootstrap.servers": cluster.bootstrap_servers}
    admin = KafkaAdmin(client)
    asked = {
        "state-written": lambda topic: StateStore(client, 1).write(topic, FlowStatus("A->B")),
        "state-read": StateStore(client, 1).read,
        "internal-written": lambda topic: InternalTopicClient(client).write(
            topic, [InternalTopicRecord(b"k", b"v")]
        ),
        "internal-read": InternalTopicClient(client).read,
        "ends": lambda topic: KafkaAdmin(client).end_offsets([TopicPartition(topic, 0)]),
        "settings": lambda topic: KafkaAdmin(client).topic_settings([topic]),
        # No method of it asks so today, and this alone makes topics with an admin client.
        "by-name": lambda topic: admin._checked._clients.get().list_topics(topic, timeout=10),
    }

    def ask(topic: str) -> None:
        with suppress(ReplicationError):  # writers may not find it
            asked[topic](topic)

    with ThreadPoolExecutor(len(asked)) as pool:  # writers look for it for some seconds
        list(pool.map(ask, asked))
    other = Producer(client)
    other.produce("of-another-client", b"")
    assert other.flush(30) == 0
    assert KafkaAdmin(client).topic_names() & {*asked, "of-another-client"} == {"of-another-client"}
    cluster.destroy()  # else it runs until all tests have ended
