"""Offsets read and translated in any process, over clusters in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

from replication.adapters import offset_reader
from replication.client.fetch_values import EpochEndOffset
from replication.errors import ClusterUnavailable
from replication.model import OffsetRange, PartitionState, TopicPartition
from replication.offsets.offset_map import BEFORE_US, NOT_YET, Answer, without_answer
from replication.records.codec import encode, plain_record
from replication.settings.flow_settings import Flow, FlowClients
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    Loss,
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
        offset_reader, "connect", lambda client, *_: made[client["bootstrap.servers"]]
    )
    return made["a:1"], made["b:1"]


@pytest.fixture
def reader(clusters):  # noqa: ARG001 - it connects to these
    made = offset_reader.OffsetReader(FLOW)
    yield made
    made.close()


def test_what_was_read_of_one_topic_is_not_lost_where_another_does_not_answer(clusters, reader):
    """A failover that tries a step again would take the flow's own records for those of clients."""
    _, target = clusters
    at = Anchor("A->B", "orders", 0, "A.orders", 10, 13)
    store(target, PRODUCERS_TOPIC, ProducerEntry(OURS, "A->B", "A", "x"))
    store(target, anchors_topic("A"), at)
    store(target, offsets_topic("A"), a_point(0, 0, 0, 0))
    target.silent = {offsets_topic("A")}
    with pytest.raises(ClusterUnavailable):
        reader.look_at_target()
    target.silent = set()
    known = reader.look_at_target()
    assert (known.producers, known.anchors) == ({OURS}, {ORDERS: at})
    assert known.points.keys() == {ORDERS}


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


def copied(clusters, **more):
    """Let ten records be copied; the anchor says ``more``."""
    source, target = clusters
    for cluster, where in ((source, ORDERS), (target, COPY)):
        cluster.logs[where].append(a_batch(0, [b"v"] * 10, (OURS, 0, 0)))
    store(target, PRODUCERS_TOPIC, ProducerEntry(OURS, "A->B", "A", "x"))
    anchor = Anchor("A->B", *ORDERS, "A.orders", 10, 10, records=10, run=(1, 0, 0, 0, 0))
    store(target, anchors_topic("A"), replace(anchor, **more))
    store(target, offsets_topic("A"), a_point(0, 0, 0, 0))


@pytest.mark.parametrize("back", [False, True])
def test_what_is_no_offset_of_the_log_has_an_answer_that_says_so(clusters, reader, back):
    copied(clusters)
    reader.look()
    found = reader.translate({ORDERS: [-1, 4, 10, 11, (1 << 63) - 1]}, back=back)[ORDERS]
    side = "target" if back else "source"
    assert {o: each.offset for o, each in found.items() if o in {4, 10}} == {4: 4, 10: 10}
    beyond = f"is beyond the end of the {side} (10)"
    assert (found[11].problem, found[(1 << 63) - 1].problem) == (beyond, beyond)
    assert found[-1].problem == "is negative: offsets begin at 0"


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("side", ["source", "target"])
def test_offsets_of_another_incarnation_of_a_topic_are_not_translated(clusters, side, back):
    copied(clusters, **{f"{side}_topic_id": "aa" * 16})
    reader = offset_reader.OffsetReader(FLOW)
    reader.look()
    found = reader.translate({ORDERS: [4, 99]}, back=back)[ORDERS]
    name = "orders" if side == "source" else "A.orders"
    problem = (
        f"cannot be translated: topic {name} was deleted and recreated on the {side} "
        "since it was copied"
    )
    assert found == dict.fromkeys([4, 99], without_answer(problem))
    assert reader.errors == {}
    reader.close()


def test_a_topic_that_is_gone_and_one_that_is_hidden_are_told_apart(clusters, reader):
    copied(clusters, source_topic_id=clusters[0].topic_id("orders").hex())
    reader.look()
    clusters[0].hidden.add("orders")
    assert reader.translate({ORDERS: [4]}) == {}
    assert repr(reader.errors[ORDERS]) == (
        "ClusterRejected('not authorized to describe topic orders')"
    )
    reader.errors.clear()
    clusters[0].denied = lambda _: False
    (answer,) = reader.translate({ORDERS: [4]})[ORDERS].values()
    assert answer.problem == ("cannot be translated: topic orders is not on the source any more")


def test_offsets_that_another_copier_copied_are_told_from_numbers_that_are_none(clusters, reader):
    copied(clusters, since=(5, 5))
    reader.look()
    found = reader.translate({ORDERS: [-1, 4, 5, 11]})[ORDERS]
    assert found[4] == BEFORE_US
    assert found[5] == Answer(5)
    assert found[-1].problem.startswith("is negative")
    assert found[11].problem.startswith("is beyond the end")


def test_an_answer_that_stays_is_read_once_by_all_looks(clusters, reader):
    copied(clusters)
    clusters[1].logs[COPY].append(a_batch(0, [b"other"] * 3, (9, 0, 0)))
    clusters[0].logs[ORDERS].append(a_batch(0, [b"v"] * 10, (OURS, 0, 10)))
    clusters[1].logs[COPY].append(a_batch(0, [b"v"] * 10, (OURS, 0, 10)))
    further = Anchor("A->B", *ORDERS, "A.orders", 20, 23, records=20, run=(1, 0, 0, 0, 0))
    store(clusters[1], anchors_topic("A"), further)
    topic_id, read = clusters[1].topic_id("A.orders"), []
    lost = Loss("A->B", *ORDERS, "", 20, PartitionState.SOURCE_TRUNCATED, 25)
    for turn in range(4):
        if turn == 3:  # the source has lost records that were copied, and copying went on
            store(clusters[1], anchors_topic("A"), lost)
        reader.look()
        before = len(clusters[1].asked)
        assert reader.translate({ORDERS: [12]}, ahead=False)[ORDERS] == {12: Answer(15)}
        fetches = [each for some in clusters[1].asked[before:] for each in some]
        read.append(any(each.topic_id == topic_id for each in fetches))
    assert read == [True, False, False, True]


@pytest.mark.parametrize(
    ("diverging", "answers"),
    [
        (EpochEndOffset(3, 6), {5: Answer(5), 6: NOT_YET, 8: NOT_YET, 12: NOT_YET}),
        (None, {5: Answer(5), 6: Answer(6), 8: Answer(8), 12: NOT_YET}),
    ],
    ids=["other records", "complete again"],
)
def test_a_source_that_lost_its_end_and_has_grown_again(clusters, reader, diverging, answers):
    source = clusters[0]
    copied(clusters, state=PartitionState.SOURCE_TRUNCATED, source_epoch=4)
    source.logs[ORDERS].append(a_batch(0, [b"new"] * 5, (OURS, 0, 10)))
    fetch = source.fetch

    async def fetch_diverging(node, entries, options, into):
        found = await fetch(node, entries, options, into)
        knows = entries[0].last_epoch == 4
        return [each._replace(diverging=diverging if knows else None) for each in found]

    source.fetch = fetch_diverging
    reader.look()
    assert reader.translate({ORDERS: [5, 6, 8, 12]}, ahead=False)[ORDERS] == answers


@pytest.mark.parametrize("state", [PartitionState.RUNNING, PartitionState.SOURCE_TRUNCATED])
def test_a_source_that_ends_before_the_copy_moves_no_group_beyond_its_end(clusters, reader, state):
    copied(clusters, state=state, source_epoch=4)
    source = clusters[0].logs[ORDERS]
    source.batches, source.end = [], 0
    source.append(a_batch(0, [b"v"] * 6))
    reader.look()
    found = reader.translate({ORDERS: [5, 6, 8]}, ahead=False)[ORDERS]
    assert (found[5], found[6]) == (Answer(5), NOT_YET)
    assert found[8].problem == "is beyond the end of the source (6)"


def test_where_offsets_can_be_set_on_the_target_and_why_not(clusters, reader):
    copied(clusters)
    reader.look()
    clusters[0].down = True  # the source is not asked
    beside = TopicPartition("A.orders", 7)
    assert reader.target_logs([COPY, beside]) == {
        COPY: OffsetRange(0, 10),
        beside: "is not in a partition that A->B copies to",
    }
    reader.known.anchors[ORDERS] = replace(reader.known.anchors[ORDERS], target_topic_id="aa")
    assert "was deleted and recreated on the target" in reader.target_logs([COPY])[COPY]


def test_the_copied_partitions_of_a_topic_are_listed_by_either_name(clusters, reader):
    copied(clusters)
    reader.look()
    assert reader.known.partitions_of("orders", target=False) == [0]
    assert reader.known.partitions_of("A.orders", target=True) == [0]
    assert reader.known.partitions_of("A.orders", target=False) == []
