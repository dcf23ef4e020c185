"""A partition whose topic gets another name: where its old copy ends and its new one begins."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.memory_network import MemoryCluster
from support.partition_copies import FORWARDED, LOCAL, REGISTRY, a_partition, a_start
from support.record_batches import a_batch

from replication.copier.partition.position import Position
from replication.copier.takeover.renamed_topic import find_end, renamed, under_old_name
from replication.model import NameChange, PartitionPlan, TopicPartition
from replication.provenance.origins import Origins, Rule
from replication.state import Anchor

ENDED = Anchor(
    "A->B", "orders", 0, "A.orders", 100, 90, (("isthmus.A->B.0", 7),), clean=True, records=88,
    target_topic_id="old-id", run=(5, 0, 0, 0, 0), source_topic_id="id", lost=3,
)  # fmt: skip
CHANGE = NameChange("A.orders", "A-orders", "continue")
PLAN = PartitionPlan(TopicPartition("orders", 0), TopicPartition("A-orders", 0))


def counted(skip: int):
    """Return a partition with ``skip`` records on the target behind its anchor, and its source.

    The source has batches of three records; those of FORWARDED are copies that are passed on.
    """
    source, partition, origins = MemoryCluster("source"), a_partition(a_start()), Origins()
    origins.learn(REGISTRY)
    partition.path_of = lambda producer_id: origins.path_of(producer_id, Rule("b"))
    for number, producer in enumerate([LOCAL, FORWARDED, LOCAL]):
        log = source.logs[partition.source]
        log.append(a_batch(0, [b"%d" % number] * 3, (producer, 0, number), timestamp=number))
        log.sequences.clear()
    partition.skip, partition.counted = skip, 50
    partition.topic_id = source.topic_id(partition.source.topic)
    return source, partition


@pytest.mark.parametrize("skip", range(1, 10))
def test_a_copy_ends_behind_as_many_source_records_as_were_counted(skip):
    source, partition = counted(skip)
    asyncio.run(find_end(source, partition))
    assert (partition.acked, partition.skip, partition.exact) == (Position(skip, 50), 0, True)
    assert partition.position == skip


def test_a_source_with_fewer_records_than_were_counted_leaves_the_position_alone():
    source, partition = counted(20)
    before = partition.acked
    asyncio.run(find_end(source, partition))
    assert (partition.acked, partition.skip) == (before, 20)


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
