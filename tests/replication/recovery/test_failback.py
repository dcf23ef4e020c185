"""What a failback finds of a source's tail, and how a flow is moved behind one that it leaves."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fakes.segmented_log import LogNetwork, SegmentedLog
from support.records.record_batches import a_batch

from replication.model import NO_LEADER_EPOCH, OffsetRange, TopicPartition
from replication.offsets.counted_log import CountedLog
from replication.recovery.diverged_tail import TailOffsets, find_tail
from replication.recovery.failback import (
    FailbackOptions,
    TailChoice,
    failback_steps,
    kept_tail,
)
from replication.recovery.switchover import SwitchoverOptions
from replication.state import TAIL_KEPT, Anchor, DivergedTail, Loss, Operation, ProvenPosition

HERE = TopicPartition("t", 0)
COMES_HOME = 7  # the producer id of copies at the source


def found(begin: int, copied: int) -> TailOffsets:
    """Search a log of ten batches of four records, of which the eighth came from the target."""
    batches = [
        (n * 4, a_batch(n * 4, [b"%d" % each for each in range(4)], (COMES_HOME, 0, 0)))
        if n == 7
        else (n * 4, a_batch(n * 4, [b"%d" % each for each in range(4)]))
        for n in range(10)
    ]
    network = LogNetwork(SegmentedLog(batches, 40, 20, 2))
    log = CountedLog(network, HERE, lambda batch: batch.producer_id != COMES_HOME)
    return asyncio.run(find_tail(log, begin, copied))


def test_the_tail_is_what_follows_the_copied_records_without_copies_that_came_back():
    tail = found(20, 3)
    assert tail == TailOffsets([OffsetRange(23, 28), OffsetRange(32, 40)], 40)
    assert (tail.first, tail.records) == (23, 13)


@pytest.mark.parametrize(("begin", "copied"), [(20, 16), (20, 99), (40, 0)])
def test_where_all_was_copied_there_is_no_tail(begin, copied):
    tail = found(begin, copied)
    assert (tail.ranges, tail.first, tail.end, tail.records) == ([], 40, 40, 0)


ANCHOR = Anchor("A->B", "t", 0, "t", 20, 50, (("x", 9),), records=20, lost=1, source_topic_id="i")
AT = ProvenPosition("A->B", "op1", "t", 0, "t", source=23, target=57)
TAIL = DivergedTail("A->B", "op2", "t", 0, first=23, end=40, records=13)


def test_a_flow_is_moved_behind_a_tail_that_stays_and_its_offsets_are_never_counted():
    points, (loss, moved) = kept_tail(ANCHOR, AT, TAIL, 5)
    assert (loss.first, loss.next, loss.state, loss.topic_id) == (23, 40, TAIL_KEPT, "i")
    assert (moved.source, moved.target, moved.records, moved.lost) == (40, 57, 23, 14)
    assert (moved.appenders, moved.clean) == (ANCHOR.appenders, False)  # they are fenced yet
    assert moved.source_epoch == NO_LEADER_EPOCH
    assert [(e.source, e.target, e.records) for e in points][-2:] == [(23, 57, 23), (40, 57, 23)]
    assert moved.run[2:] == (40, 57, 23)


def test_a_flow_that_is_behind_the_tail_already_is_not_moved():
    assert kept_tail(replace(ANCHOR, source=40), AT, TAIL, 5) == ((), ())


def test_without_a_tail_nothing_is_lost():
    _, records = kept_tail(ANCHOR, AT, replace(TAIL, first=40, records=0), 5)
    assert not [each for each in records if isinstance(each, Loss)]


def test_options_are_those_that_it_was_begun_with():
    moves = SwitchoverOptions(50, 2, deny_writes=True)
    options = FailbackOptions(TailChoice.KEEP, "/x", moves, both_sides=True)
    stored = options.stored()
    assert FailbackOptions.of(Operation("A->B", "op", options=stored)) == options
    del stored["both_sides"]  # as an older release wrote it
    older = FailbackOptions.of(Operation("A->B", "op", options=stored))
    assert older == replace(options, both_sides=False)


def test_in_an_active_active_pair_nobody_moves():
    one, both = (
        [e.name for e in failback_steps("A->B", "B->A", FailbackOptions(both_sides=each))]
        for each in (False, True)
    )
    assert one[-2:] == ["switch over", "close target"]
    assert both == [*one[:-2], "set groups", "close target"]


@pytest.mark.parametrize("tail", [TailChoice.MERGE, TailChoice.KEEP])
@pytest.mark.parametrize("export", ["", "/x"])
def test_the_steps_name_both_flows_and_what_becomes_of_the_tail(tail, export):
    steps = [e.name for e in failback_steps("A->B", "B->A", FailbackOptions(tail, export))]
    assert f"{tail.value} tail" in steps
    assert ("export tail" in steps) is bool(export)
    assert steps[-3:] == ["drain", "switch over", "close target"]
