"""Offsets read and translated in any process, over clusters in memory."""

from __future__ import annotations

import pytest
from support.memory_network import MemoryCluster
from support.record_batches import a_batch

from replication.adapters import offset_reader
from replication.model import TopicPartition
from replication.records.codec import encode, plain_record
from replication.settings.sections import Flow, FlowClients
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    OffsetPoint,
    ProducerEntry,
    anchors_topic,
    offsets_topic,
)

ADDRESSES = {"bootstrap.servers": "a:1"}, {"bootstrap.servers": "b:1"}
CLIENTS = FlowClients(
    source_consumer=ADDRESSES[0], source_admin={}, target_producer=ADDRESSES[1], target_admin={}
)
FLOW = Flow(source="A", target="B", clients=CLIENTS)
ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
OURS = 7


def store(cluster, topic, *records):
    batch = encode([plain_record(1000, each.key(), each.value()) for each in records])
    cluster.logs[TopicPartition(topic, 0)].append(bytes(batch))


def a_point(number, source, target, records):
    return OffsetPoint("A->B", "orders", 0, number, 1, number, source, target, records)


@pytest.fixture
def clusters(monkeypatch):
    made = {"a:1": MemoryCluster("A"), "b:1": MemoryCluster("B")}
    monkeypatch.setattr(
        offset_reader, "connect", lambda client, _: made[client["bootstrap.servers"]]
    )
    return made["a:1"], made["b:1"]


@pytest.fixture
def reader(clusters):  # noqa: ARG001 - it connects to these
    made = offset_reader.OffsetReader(FLOW)
    yield made
    made.close()


def test_what_appenders_wrote_is_enough_and_is_read_on(clusters, reader):
    source, target = clusters
    for base in (0, 10):
        source.logs[ORDERS].append(a_batch(base, [b"v"] * 10))
    target.logs[COPY].append(a_batch(0, [b"other"] * 3, (9, 0, 0)))
    target.logs[COPY].append(a_batch(0, [b"v"] * 10, (OURS, 0, 0)))
    store(target, PRODUCERS_TOPIC, ProducerEntry(OURS, "A->B", "A", "x"))
    store(target, offsets_topic("A"), a_point(0, 0, 0, 0))
    at = Anchor("A->B", "orders", 0, "A.orders", 10, 13, records=10, run=(1, 0, 0, 0, 0))
    store(target, anchors_topic("A"), at)
    reader.look()
    found = reader.translate({ORDERS: [0, 4, 10, 15]})[ORDERS]
    assert {o: each.offset for o, each in found.items()} == {0: 3, 4: 7, 10: 13, 15: None}
    target.logs[COPY].append(a_batch(0, [b"v"] * 10, (OURS, 0, 10)))
    further = Anchor("A->B", "orders", 0, "A.orders", 20, 23, records=20, run=(1, 0, 0, 0, 0))
    store(target, anchors_topic("A"), further)
    reader.look()
    assert reader.translate({ORDERS: [15]})[ORDERS][15].offset == 18
    assert reader.translate({ORDERS: [18]}, back=True)[ORDERS][18].offset == 15


def test_a_partition_that_was_never_copied_has_no_answers(reader):
    reader.look()
    assert reader.translate({ORDERS: [3]}) == {}


def test_both_ends_of_partitions_are_reported(clusters, reader):
    clusters[0].logs[ORDERS].append(a_batch(0, [b"v"] * 10))
    assert reader.ends([ORDERS], target=False) == {ORDERS: (0, 10)}
