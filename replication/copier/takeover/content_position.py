"""Finds the copy position by content, where retention has deleted what counting needs.

S  The last batch of ours before our marker is also in the source, and we appended nothing behind
   it: if it occurs only once in the source, the copy resumes behind that place. The search reads
   as many deliverable records as may have been copied since the anchor.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from replication.client.fetch_session import FetchOptions
from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.copier.partition.intake import take
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.position import Position
from replication.copier.partition.producer_state import ProducerState
from replication.errors import ClusterUnavailable, CorruptBatch, ReplicationError
from replication.model import EARLIEST_TIMESTAMP, PartitionState, ProducerIdAndEpoch
from replication.records.batch import producer_ids, walk
from replication.records.codec import decode
from replication.records.content_search import Match, SearchedBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.provenance.origins import ReplicationPath

_NO_PROGRESS_S = 30.0  # without any progress
_LOG_STARTS_S = 3.0


class TargetTail(NamedTuple):
    """What is known of a partition of which not all records could be counted."""

    batch: bytes | None  # the last one of ours on the target
    least: int  # records of ours since the anchor that are on the target
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
        partition.resume_at(places[0])
        partition.skip, partition.done = 0, partition.fetched_to
        partition.set_position(Position(places[0], partition.counted))
        partition.remark = (
            f"after an unclean shutdown the position {places[0]} was found by content"
        )
    elif tail.passed:
        place = "at several offsets" if places else "nowhere"
        if tail.batch is not None:
            place = f"our last batch on the target occurs {place} in the source"
        else:
            place = "the target has none of our records left"
        partition.halt(PartitionState.TARGET_RESET, f"{tail.passed}, and {place}")


async def _places(source: Network, partition: PartitionCopy, tail: TargetTail) -> list[int]:
    """Return the source offsets behind each occurrence of the batch."""
    try:
        (batch,) = walk(memoryview(tail.batch or b""), partition.target)
        start = await source.offset_at(partition.source, EARLIEST_TIMESTAMP)
        start = max(start, partition.claimed.source or 0)
        search = _Search(
            source, partition, SearchedBatch(batch, partition.target), tail.most, start
        )
        found = await search.run()
    except CorruptBatch:
        return []
    hole = start - (partition.claimed.source or 0)  # it had this many records at most
    return [each.end for each in found if each.seen >= tail.least - hole]


class _AnyProducer(ProducerState):
    """Accepts batches of all replication paths: a search appends nothing."""

    def producer_for(self, path: ReplicationPath) -> ProducerIdAndEpoch | None:
        return self.producer


@dataclass(slots=True)
class _Search:
    source: Network
    partition: PartitionCopy
    wanted: SearchedBatch
    most: int
    start: int  # the source's log start; its first batch may begin before that

    async def run(self) -> list[Match]:
        partition = self.partition
        scan = PartitionCopy(partition.flow, partition.plan, partition.topic_id, partition.claimed)
        scan.queue.writer = _AnyProducer()
        scan.path_of, scan.recast = partition.path_of, partition.recast
        scan.position = partition.claimed.source or 0
        committed = partition.claimed.isolation != "read_uncommitted"
        options = FetchOptions(max_wait_ms=50, isolation=int(committed), line="search")
        deadline, buffer = time.monotonic() + _NO_PROGRESS_S, FetchBuffer()
        while self.wanted.seen < self.most:
            before, found = scan.position, await self._fetch(scan, options, buffer)
            if found is not None:
                if partition.path_of is not None and partition.look_up is not None:
                    await partition.look_up(producer_ids(found.records))
                self._take(scan, found, buffer)
                if scan.position >= (found.stable if committed else found.high_watermark):
                    break
            if scan.position > before:
                deadline = time.monotonic() + _NO_PROGRESS_S
            elif time.monotonic() > deadline:
                raise ClusterUnavailable(f"scan for our last batch in {partition.source}")
        return self.wanted.found

    def _take(self, scan: PartitionCopy, found: Fetched, buffer: FetchBuffer) -> None:
        take(scan, found, buffer)
        for producer_batch in scan.queue.waiting:
            (batch,) = walk(producer_batch.batch, scan.source)
            self.wanted.add(decode(batch, scan.source), producer_batch.offsets)
            producer_batch.release_buffer()
        scan.queue.waiting.clear()

    async def _fetch(
        self, scan: PartitionCopy, options: FetchOptions, into: FetchBuffer
    ) -> Fetched | None:
        """Fetch once; None: the leader has not answered yet."""
        leader = self.source.leader(scan.source)
        if leader is not None:
            at = max(scan.position, self.start)
            entry = FetchEntry(*scan.key, at, leader.epoch)
            (found,) = await self.source.fetch(leader.node, [entry], options, into)
            if not found.error:
                return found
        await asyncio.sleep(0.1)
        await self.source.refresh([scan.source.topic])
        return None
