"""Up to where a copy holds a flow's records alone, and which offsets are read to find that."""

from __future__ import annotations

import asyncio

import pytest
from support.fakes.segmented_log import LogNetwork, SegmentedLog
from support.records.record_batches import a_batch

from replication.model import TopicPartition
from replication.offsets.counted_log import CountedLog
from replication.offsets.offset_map import SyncPoint
from replication.recovery.unshared_log import unshared_end
from replication.state import Anchor

OURS, THEIRS = 7, 8


def points(*places: tuple[int, int]) -> list[SyncPoint]:
    """Return sync points of target offsets and records copied before them."""
    return [SyncPoint(records, target, records, "append", "", "") for target, records in places]


def found(others: set[int], sync_points, own_from: int = 0) -> tuple[int, int]:
    """Return what is found where batches of two records are others', and how many were read."""
    ids = [THEIRS if n in others else OURS for n in range(10)]
    batches = [(2 * n, a_batch(2 * n, [b"a", b"b"], (ids[n], 0, 0))) for n in range(10)]
    read = set()

    def is_theirs(batch) -> bool:
        read.add(batch.base)
        return batch.producer_id != OURS

    log = CountedLog(
        LogNetwork(SegmentedLog(batches, 20, 10, 1)), TopicPartition("t", 0), is_theirs
    )
    anchor = Anchor("A->B", "t", 0, "t", 20, 20, own_from=own_from)
    return asyncio.run(unshared_end(log, sync_points, anchor)), len(read)


@pytest.mark.parametrize("others", [set(), {4}, {3, 8}])
def test_the_first_record_of_others_is_found_also_behind_the_last_point(others):
    first = 2 * min(others) if others else 20
    behind = 2 * sum(each < 9 for each in others)
    assert found(others, points((0, 0), (18, 18 - behind)))[0] == first
    assert found(others, points((0, 0)))[0] == first
    assert found(others, ())[0] == first


def test_records_of_others_from_before_the_copy_began_count():
    assert found({1}, points((8, 0), (20, 12)))[0] == 2


def test_where_offsets_and_copied_records_grow_together_nothing_is_read():
    assert found(set(), points((0, 0), (20, 20))) == (20, 0)
    first, read = found({9}, points((0, 0), (16, 16), (20, 18)))
    assert (first, read) == (18, 2)


def test_what_fills_a_topic_of_the_source_anew_is_read_there_as_well():
    assert found(set(), points((8, 0), (20, 12)), own_from=8) == (0, 0)
