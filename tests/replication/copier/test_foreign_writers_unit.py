"""Gaps between our appends: which are checked for foreign producers, and how often."""

from __future__ import annotations

import pytest
from support.partition_copies import a_partition, a_start

from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.recovery_queue import RecoveryQueue


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_of_several_gaps_of_a_partition_the_first_is_looked_at():
    gaps, partition = AppendGaps(), a_partition(a_start())
    gaps.note(partition, 5)
    gaps.note(partition, 9)
    assert gaps.starts == {partition: 5}


def test_a_partition_is_looked_at_now_and_then_not_at_every_gap(clock):
    gaps, partition, other = AppendGaps(), a_partition(a_start(0)), a_partition(a_start(1))
    gaps.note(partition, 5)
    gaps.checked(partition)
    clock[0] += 29.0
    gaps.note(partition, 9)
    gaps.note(other, 7)
    assert gaps.starts == {other: 7}
    clock[0] += 1.0
    gaps.note(partition, 11)
    assert gaps.starts == {other: 7, partition: 11}


def test_where_another_flow_reads_the_target_gaps_are_no_surprise():
    gaps = AppendGaps(expected=True)
    gaps.note(a_partition(a_start()), 5)
    assert not gaps.starts


def test_a_partition_that_leaves_the_unit_asks_for_no_recovery():
    queue, partition, leaving = RecoveryQueue(), a_partition(a_start(0)), a_partition(a_start(1))
    leaving.leaving = True
    queue.add(leaving)
    assert not queue.added.is_set()
    queue.add(partition)
    assert queue.added.is_set()
    assert queue.partitions == {partition}
