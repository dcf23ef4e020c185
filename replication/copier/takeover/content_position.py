"""Finds the copy position by content, where a log no longer has what counting needs.

S  The last batch of ours before our marker is also in the source, and we appended nothing behind
   it: if it occurs only once in the source, the copy resumes behind that place. The search reads
   as many deliverable records as may have been copied since the anchor. It survives a log start
   that moved on either side, and compaction of either log, unless they removed a record of that
   batch or something behind it: then it finds nothing, and the partition halts or waits.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from replication.copier.partition.position import Position
from replication.copier.takeover.source_scan import SourceScan
from replication.errors import CorruptBatch, ReplicationError
from replication.model import EARLIEST_TIMESTAMP, PartitionState
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

    If the target cannot be counted either, halt it. Raises ClusterUnavailable.
    """
    places = [] if tail.batch is None else await _places(source, partition, tail)
    if len(places) == 1:
        partition.resume_at(places[0].source, places[0].epoch)
        partition.skip, partition.uncountable, partition.done = 0, "", partition.fetched_to
        partition.set_position(Position(places[0].source, partition.counted))
        partition.remark = (
            f"after an unclean shutdown the position {places[0].source} was found by content"
        )
    elif tail.passed:
        place = "at several offsets" if places else "nowhere"
        if tail.batch is not None:
            place = f"our last batch on the target occurs {place} in the source"
        else:
            place = "the target has none of our records left"
        partition.halt(PartitionState.TARGET_RESET, f"{tail.passed}, and {place}")


class _Place(NamedTuple):
    """The source offset behind an occurrence of the batch, and the leader epoch before it."""

    source: int
    epoch: int


async def _places(source: Network, partition: PartitionCopy, tail: TargetTail) -> list[_Place]:
    """Return the places behind each occurrence of the batch."""
    try:
        (batch,) = walk(memoryview(tail.batch or b""), partition.target)
        start = await source.offset_at(partition.source, EARLIEST_TIMESTAMP)
        start = max(start, partition.claimed.source or 0)
        wanted = SearchedBatch(batch, partition.target)
        scan = SourceScan(source, partition, wanted, tail.most, start)
        await scan.run()
    except CorruptBatch:
        return []
    hole = start - (partition.claimed.source or 0)  # it had this many records at most
    return [
        _Place(each.end, scan.epoch_before(each.end))
        for each in wanted.found
        if each.seen >= tail.least - hole
    ]
