"""The anchor reader returns the newest anchors and all losses of one flow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fakes.memory_network import MemoryCluster
from support.settings.configs import a_flow

from replication.adapters.topics import anchor_reader
from replication.adapters.topics.anchor_reader import AnchorReader
from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from replication.records.codec import encode, plain_record
from replication.settings.mm2_settings import GroupSettings
from replication.settings.naming_settings import Selection
from replication.state import (
    Anchor,
    GroupPositions,
    Loss,
    OffsetPoint,
    Stored,
    anchors_topic,
    offsets_topic,
)

HERE = TopicPartition("t", 0)
ANCHOR = Anchor("A->B", *HERE, "A.t", 0, 0)
LOSS = Loss("A->B", *HERE, "id", 3, next=5)


@pytest.fixture
def cluster():
    return MemoryCluster()


@pytest.fixture
def reader(cluster, monkeypatch):
    monkeypatch.setattr(anchor_reader, "connect", lambda *_: cluster)
    made = AnchorReader(a_flow())
    yield made
    made._loop.close()  # a driver keeps it until its process ends


def write(cluster: MemoryCluster, *records: Stored, topic: str = anchors_topic("A")) -> None:
    for each in records:
        batch = encode([plain_record(0, each.key(), each.value())])
        cluster.logs[TopicPartition(topic, 0)].append(bytes(batch))


def test_the_newest_anchor_counts_and_losses_stay(cluster, reader):
    write(cluster, *(replace(ANCHOR, records=number) for number in range(3)), LOSS)
    write(cluster, replace(ANCHOR, flow="A->C", partition=1), replace(LOSS, flow="A->C"))
    assert reader.look() == ({HERE: replace(ANCHOR, records=2)}, (LOSS,), (), None)
    write(cluster, replace(ANCHOR, records=7))
    assert reader.look() == ({HERE: replace(ANCHOR, records=7)}, (LOSS,), (), None)


def test_only_the_newest_record_of_a_key_is_decoded(cluster, reader, monkeypatch):
    decoded = []
    parse = anchor_reader.parse
    monkeypatch.setattr(anchor_reader, "parse", lambda *r: decoded.append(r) or parse(*r))
    write(cluster, *(replace(ANCHOR, records=number) for number in range(5)))
    reader.look()
    assert len(decoded) == 1


@pytest.mark.parametrize("synced", [True, False])
def test_offsets_of_selected_groups_are_read_where_groups_are_synced(cluster, monkeypatch, synced):
    monkeypatch.setattr(anchor_reader, "connect", lambda *_: cluster)
    settings = {"groups": GroupSettings(sync=synced), "selection": Selection(groups=("sh.*",))}
    reader = AnchorReader(a_flow().model_copy(update=settings))
    write(cluster, ANCHOR)
    shop = GroupPositions("A->B", "shop", (("t", 0, 5),))
    point = OffsetPoint("A->B", "t", 0, 1)
    others = replace(shop, group="other"), replace(shop, flow="A->C"), point
    write(cluster, replace(shop, positions=()), shop, *others, topic=offsets_topic("A"))
    assert reader.look() == ({HERE: ANCHOR}, (), (shop,) if synced else (), None)
    reader._loop.close()


def test_an_anchor_is_not_lost_where_another_topic_does_not_answer(cluster, monkeypatch):
    """A batch flow would wait for it without end."""
    monkeypatch.setattr(anchor_reader, "connect", lambda *_: cluster)
    reader = AnchorReader(a_flow().model_copy(update={"groups": GroupSettings(sync=True)}))
    write(cluster, ANCHOR)
    write(cluster, GroupPositions("A->B", "shop"), topic=offsets_topic("A"))
    cluster.silent = {offsets_topic("A")}
    with pytest.raises(ClusterUnavailable):
        reader.look()
    cluster.silent = set()
    assert reader.look().anchors == {HERE: ANCHOR}
    reader._loop.close()
