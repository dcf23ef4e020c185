"""Finds the copy position by content, where a log no longer has what counting needs, or no anchor.

S  The last batch of ours before our marker is also in the source, and we appended nothing behind
   it: if it occurs only once in the source, the copy resumes behind that place. The search reads
   as many deliverable records as may have been copied since the anchor; without an anchor all from
   where the batch may be (L). It survives a log start that moved on either side, and compaction of
   either log, unless they removed a record of that batch or something behind it: then it finds
   nothing, and the partition halts or waits.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from replication.copier.takeover.source_scan import SourceScan
from replication.errors import CorruptBatch, ReplicationError
from replication.model import EARLIEST_TIMESTAMP, PartitionState
from replication.offsets.offset_points import OffsetPoints
from replication.records.batch import walk
from replication.records.content_search import SearchedBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy

_NO_PROGRESS_S = 30.0  # without any progress
_LOG_STARTS_S = 3.0


class TargetTail(NamedTuple):
    """What is known of a partition of which not all records could be counted."""

    batch: bytes | None  # the last one of ours on the target
    # Records of ours since the anchor that are on the target; 0: the source has lost some of them.
    least: int
    most: int  # that may have been appended since then
    passed: str  # what the target no longer holds; empty: only the source lacks records
    whole: int | None = None  # all that we appended since the anchor; None: some may be gone


async def without_anchor_range(
    source: Network, partitions: Sequence[PartitionCopy]
) -> set[PartitionCopy]:
    """Return the partitions whose anchor is below the source's log start."""
    try:
        async with asyncio.timeout(_LOG_STARTS_S):
            starts = await asyncio.gather(
                *(source.offset_at(each.source, EARLIEST_TIMESTAMP) for each in partitions)
            )
    except (TimeoutError, ReplicationError):
        return set()  # then the fetch reports OFFSET_OUT_OF_RANGE
    pairs = zip(partitions, starts, strict=True)
    return {
        partition
        for partition, start in pairs
        if partition.acked and partition.acked.source < start
    }


async def set_position(source: Network, partition: PartitionCopy, tail: TargetTail) -> None:
    """Set ``partition`` behind the last batch of ours; it keeps its position if that is not found.

    If the target cannot be counted either, or there is no anchor, halt it. Raises
    ClusterUnavailable.
    """
    if partition.sought:  # there is nothing to count from
        tail = tail._replace(least=0, most=sys.maxsize, passed=partition.sought)
    places = [] if tail.batch is None else await _places(source, partition, tail)
    if len(places) == 1 and (lacking := _lacking(partition, tail, places[0])):
        partition.halt(
            PartitionState.TARGET_RESET,
            f"the target lacks {lacking} of the {places[0].seen} records that the source has "
            "from the anchor to our last record on the target",
        )
    elif len(places) == 1:
        _resume(partition, places[0])
    elif tail.passed:
        place = "at several offsets" if places else "nowhere"
        if tail.batch is not None:
            place = f"our last batch on the target occurs {place} in the source"
        else:
            place = "the target has none of our records left"
        reason = f"{tail.passed}, and {place}"
        if partition.sought:
            partition.lose_position(reason)
        else:
            partition.halt(PartitionState.TARGET_RESET, reason)


class _Place(NamedTuple):
    """The source offset behind an occurrence of the batch, and the leader epoch before it."""

    source: int
    epoch: int
    seen: int  # records of the source, from the anchor to it


def _lacking(partition: PartitionCopy, tail: TargetTail, place: _Place) -> int:
    """Return how many records before ``place`` were never appended, as far as that is known."""
    if tail.whole is None or partition.sought:
        return 0
    return max(0, place.seen - tail.whole)


def _resume(partition: PartitionCopy, place: _Place) -> None:
    cause = "the anchor was missing:" if partition.sought else "after an unclean shutdown"
    if partition.sought:  # nothing is known of what was copied before
        since = (place.source, partition.counted.end)
        partition.claimed = replace(partition.claimed, since=since)
        nothing = replace(partition.claimed, source=None, target=None)
        partition.sought, partition.offset_points = "", OffsetPoints.of(nothing)
    partition.uncountable = ""
    partition.go_on_at(place.source, place.epoch)
    partition.status.remark = f"{cause} the position {place.source} was found by content"


async def _places(source: Network, partition: PartitionCopy, tail: TargetTail) -> list[_Place]:
    """Return the places behind each occurrence of the batch."""
    try:
        (batch,) = walk(memoryview(tail.batch or b""), partition.target)
        start = await source.offset_at(partition.source, EARLIEST_TIMESTAMP)
        start = max(start, partition.claimed.source or 0)
        search = SearchedBatch(batch, partition.target)
        scan = SourceScan(source, partition, search, tail.most, start)
        await scan.run()
    except CorruptBatch:
        return []
    hole = start - (partition.claimed.source or 0)  # it had this many records at most
    return [
        _Place(each.end, scan.epoch_before(each.end), each.seen)
        for each in search.found
        if each.seen >= tail.least - hole
    ]
