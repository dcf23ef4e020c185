"""Gaps between our appends: which of them are looked at, and how often."""

from __future__ import annotations

import pytest
from support.partition_copies import a_lane, a_start

from replication.copier.foreign_writers import AppendGaps
from replication.copier.recovery_queue import RecoveryQueue


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_of_several_gaps_of_a_partition_the_first_is_looked_at():
    gaps, lane = AppendGaps(), a_lane(a_start())
    gaps.note(lane, 5)
    gaps.note(lane, 9)
    assert gaps.starts == {lane: 5}


def test_a_partition_is_looked_at_now_and_then_not_at_every_gap(clock):
    gaps, lane, other = AppendGaps(), a_lane(a_start(0)), a_lane(a_start(1))
    gaps.note(lane, 5)
    gaps.looked_at(lane)
    clock[0] += 29.0
    gaps.note(lane, 9)
    gaps.note(other, 7)
    assert gaps.starts == {other: 7}
    clock[0] += 1.0
    gaps.note(lane, 11)
    assert gaps.starts == {other: 7, lane: 11}


def test_where_another_flow_reads_the_target_gaps_are_no_surprise():
    gaps = AppendGaps(expected=True)
    gaps.note(a_lane(a_start()), 5)
    assert not gaps.starts


def test_a_partition_that_leaves_the_unit_asks_for_no_recovery():
    queue, lane, leaving = RecoveryQueue(), a_lane(a_start(0)), a_lane(a_start(1))
    leaving.leaves = True
    queue.add(leaving)
    assert not queue.added.is_set()
    queue.add(lane)
    assert queue.added.is_set()
    assert queue.partitions == {lane}
