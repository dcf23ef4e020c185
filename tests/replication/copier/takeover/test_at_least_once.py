"""Copying where the target grants no transactional id: repeats after a crash, never a gap."""

from __future__ import annotations

import asyncio

import pytest
from support.copier.partition_copies import a_partition, a_start
from support.copier.two_clusters import HERE, TwoClusters, ungranted
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

from replication.copier.partition.position import Position
from replication.copier.takeover.at_least_once import ends_of
from replication.model import Mode, PartitionState
from replication.state import PRODUCERS_TOPIC

VALUES = [b"%d" % each for each in range(20)]
DELIVERY = {"rejected": {}, "configured": {"delivery": Mode.AT_LEAST_ONCE}}


@pytest.fixture
def pair():
    two = TwoClusters()
    two.granting = two.target.init_producer_id
    two.target.init_producer_id = ungranted
    yield two
    two.close()


def appended(pair) -> list[tuple[int, int]]:
    """Return producer id and sequence of each batch on the target."""
    batches = pair.target.logs[HERE].batches
    return [
        (int.from_bytes(b[43:51], "big", signed=True), int.from_bytes(b[53:57], "big", signed=True))
        for b in batches
    ]


@pytest.mark.parametrize("delivery", DELIVERY)
def test_without_a_transactional_id_a_plain_producer_copies_and_says_so(pair, delivery):
    if DELIVERY[delivery]:
        pair.target.init_producer_id = pair.granting
    pair.feed(*VALUES)
    report = pair.copy(**DELIVERY[delivery])
    assert (report.outcome, report.at_least_once, report.takeovers) == ("clean", 1, 0)
    assert pair.target.logs[HERE].values() == VALUES
    last = pair.anchors()[-1]
    assert (last.mode, last.clean, last.appenders) == ("at-least-once", True, (("", 501),))


def test_epochs_of_a_process_share_a_plain_producer_id(pair):
    for epoch in range(3):
        pair.feed(b"%d" % epoch)
        assert pair.copy(epoch=epoch).outcome == "clean"
    assert {each for each, _ in appended(pair)} == {501}
    entries = [e for e in pair.target.events if e == ("append", PRODUCERS_TOPIC, 0)]
    assert len(entries) == 1


def test_after_a_crash_it_goes_back_to_the_anchor_and_fences_nobody(pair):
    pair.feed(*VALUES)
    pair.copy()
    pair.crash()
    report = pair.copy(generation=2)
    assert (report.outcome, report.takeovers) == ("clean", 1)
    assert pair.target.logs[HERE].values() == VALUES * 2
    back = next(e for e in pair.anchors() if e.generation == 2 and e.target == len(VALUES))
    assert (back.source, len(back.appenders)) == (0, 1)


def test_an_exact_appender_after_it_goes_back_too_and_from_there_on_counts(pair):
    pair.feed(*VALUES)
    pair.copy()
    pair.crash()
    pair.target.init_producer_id = pair.granting
    pair.source.down = True  # it ends before it has appended anything
    pair.copy(generation=2, epoch_s=0.3)
    last = pair.anchors()[-1]
    marker = 1
    assert (last.source, last.target, last.mode) == (0, len(VALUES) + marker, "append")
    pair.source.down = False
    assert pair.copy(generation=3).outcome == "clean"
    assert pair.target.logs[HERE].values() == VALUES * 2


def test_what_an_exact_appender_left_is_repeated_from_its_anchor(pair):
    pair.target.init_producer_id = pair.granting
    pair.feed(*VALUES)
    pair.copy()
    pair.crash()
    pair.target.init_producer_id = ungranted
    assert pair.copy(generation=2).at_least_once == 1
    assert pair.target.logs[HERE].values() == VALUES * 2


def test_records_of_nobody_are_never_counted(pair):
    pair.target.plain_producer_id = ungranted
    pair.feed(*VALUES)
    assert pair.copy().outcome == "clean"
    assert set(appended(pair)) == {(-1, -1)}
    assert ("append", PRODUCERS_TOPIC, 0) not in pair.target.events
    pair.crash()
    pair.target.logs[HERE].append(a_batch(0, [b"foreign"], (-1, -1, -1)))
    pair.target.init_producer_id = pair.granting
    assert pair.copy(generation=2).outcome == "clean"
    assert pair.target.logs[HERE].values() == [*VALUES, b"foreign", *VALUES]


@pytest.mark.parametrize(
    ("answers", "state"),
    [
        pytest.param([2, 2, 6], PartitionState.RUNNING, id="a new leader did not know yet"),
        pytest.param([2, 2, 2], PartitionState.TARGET_RESET, id="it stays so"),
    ],
)
def test_an_end_before_the_anchor_is_asked_for_again_before_it_counts_as_a_reset(answers, state):
    async def looked_at():
        target, partition = MemoryCluster(), a_partition(a_start())
        partition.acked = Position(5, 5)

        async def offset_at(_partition, _moment) -> int:
            return answers.pop(0)

        target.offset_at = offset_at
        await ends_of(target, [partition])
        return partition.state

    assert asyncio.run(looked_at()) is state
