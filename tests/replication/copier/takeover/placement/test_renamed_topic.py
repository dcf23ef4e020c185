"""A partition whose topic gets another name: where its old copy ends and its new one begins."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.copier.partition_copies import FORWARDED, LOCAL, a_partition, a_start, without_loops
from support.copier.two_clusters import a_spec
from support.fakes.memory_network import OUT_OF_RANGE, MemoryCluster
from support.records.record_batches import a_batch

from replication.client.state_topic.state_log import StateLog
from replication.copier.partition.position import Position
from replication.copier.spec import UnitSpec
from replication.copier.start import start
from replication.copier.takeover.connections import new_connections
from replication.copier.takeover.placement import renamed_topic
from replication.copier.takeover.placement.renamed_topic import find_ends, renamed, under_old_name
from replication.model import NameChange, PartitionPlan, PartitionState, TopicPartition
from replication.state import Anchor, anchors_topic

ENDED = Anchor(
    "A->B", "orders", 0, "A.orders", 100, 90, (("isthmus.A->B.0", 7),), clean=True, records=88,
    target_topic_id="old-id", run=(5, 0, 0, 0, 0), source_topic_id="id", lost=3,
)  # fmt: skip
CHANGE = NameChange("A.orders", "A-orders", "continue")
PLAN = PartitionPlan(TopicPartition("orders", 0), TopicPartition("A-orders", 0))


class Retained(MemoryCluster):
    """A source whose logs begin at ``log_start``."""

    log_start = 0

    async def offset_at(self, partition, timestamp: int) -> int:
        return await super().offset_at(partition, timestamp) or self.log_start

    async def fetch(self, node, entries, options, into):
        found = await super().fetch(node, entries, options, into)
        return [
            answer._replace(error=OUT_OF_RANGE if entry.offset < self.log_start else answer.error)
            for entry, answer in zip(entries, found, strict=True)
        ]


def counted(skip: int):
    """Return a partition with ``skip`` records on the target behind its anchor, and its source.

    The source has batches of three records; those of FORWARDED are copies that are passed on.
    """
    source, partition = Retained("source"), a_partition(a_start())
    partition.rules = without_loops()
    for number, producer in enumerate([LOCAL, FORWARDED, LOCAL]):
        log = source.logs[partition.source]
        log.append(a_batch(0, [b"%d" % number] * 3, (producer, 0, number), timestamp=number))
        log.sequences.clear()
    partition.counted.skip, partition.counted.end = skip, 50
    partition.topic_id = source.topic_id(partition.source.topic)
    return source, partition


@pytest.mark.parametrize("skip", range(1, 10))
def test_a_copy_ends_behind_as_many_source_records_as_were_counted(skip):
    source, partition = counted(skip)
    asyncio.run(find_ends(source, [partition]))
    assert (partition.acked, partition.counted.skip, partition.exact) == (
        Position(skip, 50),
        0,
        True,
    )
    assert partition.position == skip


def test_a_source_with_fewer_records_than_were_counted_leaves_the_position_alone():
    source, partition = counted(20)
    before = partition.acked
    asyncio.run(find_ends(source, [partition]))
    assert (partition.acked, partition.counted.skip) == (before, 20)


@pytest.mark.parametrize(("skip", "log_start", "end"), [(2, 3, 2), (3, 3, 3), (5, 3, 5), (4, 6, 4)])
def test_a_copy_whose_anchor_retention_has_passed_ends_without_waiting_for_it(skip, log_start, end):
    """The next copy begins at that end, and finds which offsets are lost, if any."""
    source, partition = counted(skip)
    source.log_start = log_start
    asyncio.run(asyncio.wait_for(find_ends(source, [partition]), 5))
    assert (partition.acked, partition.counted.skip, partition.exact) == (
        Position(end, 50),
        0,
        True,
    )


@pytest.mark.parametrize("removed", [0, 4, 6])
def test_a_source_that_was_compacted_since_leaves_the_position_alone(removed):
    source, partition = counted(7)
    before = partition.acked
    source.logs[partition.source].compact(removed)
    asyncio.run(find_ends(source, [partition]))
    assert (partition.acked, partition.counted.skip) == (before, 7)


@pytest.mark.parametrize(("last", "end"), [(b"1", 6), (b"2", 0)], ids=["as copied", "rewritten"])
def test_a_copy_ends_only_behind_the_last_record_that_was_copied(last, end):
    source, partition = counted(6)
    partition.counted.last = a_batch(44, [last] * 3, timestamp=1)
    asyncio.run(find_ends(source, [partition]))
    assert partition.acked.source == end


def test_a_source_that_does_not_answer_leaves_the_position_alone():
    source, partition = counted(4)
    before, source.down = partition.acked, True
    asyncio.run(find_ends(source, [partition]))
    assert (partition.acked, partition.counted.skip) == (before, 4)


def test_a_source_that_never_says_where_it_starts_leaves_the_position_as_it_is(monkeypatch):
    monkeypatch.setattr(renamed_topic, "_LOG_START_S", 0.05)

    class Silent(MemoryCluster):
        async def offset_at(self, *_: object) -> int:
            return await asyncio.Event().wait()

    partition = a_partition(a_start())
    partition.counted.skip = 4

    async def find() -> None:
        async with asyncio.timeout(10):
            await find_ends(Silent(), [partition])

    asyncio.run(find())
    assert (partition.acked, partition.exact, partition.counted.skip) == ((0, 0), False, 4)


class Asked(MemoryCluster):
    """A cluster that shows the leaders of the topics that it was asked about."""

    def leader(self, partition):
        asked = any(partition.topic in event[1:] for event in self.events if event[0] == "refresh")
        return super().leader(partition) if asked else None


OLD, NEW = TopicPartition("A.orders", 0), TopicPartition("A-orders", 0)


def taken_over(change: NameChange, **more: object):
    """Return a partition that a new driver takes over after its unit was killed."""

    async def take():
        source, target = Retained("source"), Asked("target")
        source.logs[PLAN.source].append(a_batch(0, [b"v"] * 3))
        killed = await target.init_producer_id("isthmus.A->B.0")
        target.logs[OLD].append(a_batch(0, [b"v"] * 2, (killed.producer_id, 0, 0)))
        anchor = Anchor("A->B", *PLAN.source, "A.orders", 0, 0, (("isthmus.A->B.0", 100),), 1)
        log = StateLog(target, anchors_topic("A"))
        await log.append([replace(anchor, **more)])
        plan = replace(PLAN, target=OLD._replace(topic=change.in_use), name_change=change)
        spec = UnitSpec("A->B", "A", "B", 0, 2, 0, (plan,), {}, {})
        connections = new_connections(a_spec(), source, target, {})
        (partition,) = (await start(spec, connections))[1]
        return partition

    return asyncio.run(take())


@pytest.mark.parametrize("old", ["A.orders", "another, as most of the topic's partitions"])
def test_after_a_kill_the_old_copy_is_counted_and_the_new_one_begins_behind_it(old):
    partition = taken_over(CHANGE._replace(old=old))
    assert (partition.target, partition.state) == (NEW, PartitionState.RUNNING)
    assert partition.acked == Position(2, 0)


def test_a_copy_that_waits_is_ended_under_its_old_name():
    partition = taken_over(CHANGE._replace(choice=""))
    assert (partition.target, partition.state) == (OLD, PartitionState.NAME_CHANGED)
    assert (partition.claimed.source, partition.claimed.clean) == (2, True)


@pytest.mark.parametrize("choice", ["continue", "reseed"])
def test_the_new_anchor_names_the_old_copy_so_that_no_flow_takes_it_for_a_local_topic(choice):
    partition = taken_over(CHANGE._replace(choice=choice))
    anchor = partition.anchor(0)
    assert (anchor.target_topic, anchor.former) == ("A-orders", "A.orders")
    assert (anchor.source, anchor.since) == ((2, (2, 0)) if choice == "continue" else (0, None))


def test_what_happened_to_the_old_copy_is_asked_before_the_new_one_begins():
    partition = taken_over(CHANGE, source_topic_id="recreated")
    assert (partition.target, partition.state) == (OLD, PartitionState.SOURCE_RECREATED)


def test_an_old_copy_with_more_records_than_the_source_waits_and_says_so():
    partition = taken_over(CHANGE, source=2)
    assert (partition.target, partition.state) == (OLD, PartitionState.WAITING)
    assert partition.status.reason == (
        "its copy in A.orders has not ended yet: the source does not show where it ended"
    )
    assert not partition.anchor(0, clean=True).clean


@pytest.mark.parametrize("choice", ["", "continue"])
def test_a_partition_that_was_never_copied_waits_with_its_topic(choice):
    partition = taken_over(CHANGE._replace(choice=choice), partition=1)
    state = PartitionState.RUNNING if choice else PartitionState.NAME_CHANGED
    assert (partition.state, partition.target) == (state, NEW if choice else OLD)


def test_the_new_topic_continues_at_the_source_offset_and_names_the_topic_with_the_rest():
    new = renamed(ENDED, "A-orders", 4, now_ms=9)
    assert new == replace(
        ENDED, target_topic="A-orders", target_topic_id="", target=4, former="A.orders",
        since=(100, 4), run=None, appenders=(), at_ms=9,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "known"),
    [
        pytest.param(CHANGE, ENDED, id="it ended cleanly"),
        pytest.param(CHANGE, None, id="it was never copied"),
        pytest.param(CHANGE, replace(ENDED, source=None, clean=False), id="it has no position"),
        pytest.param(
            CHANGE, replace(ENDED, target_topic="A-orders", clean=False), id="it has moved"
        ),
        pytest.param(None, replace(ENDED, clean=False), id="its name did not change"),
    ],
)
def test_no_old_copy_has_to_be_ended(change, known):
    assert under_old_name(replace(PLAN, name_change=change), known) is None


def test_a_copy_that_ended_uncleanly_is_taken_over_under_its_old_name():
    plan = under_old_name(replace(PLAN, name_change=CHANGE), replace(ENDED, clean=False))
    assert plan == replace(PLAN, target=TopicPartition("A.orders", 0))
