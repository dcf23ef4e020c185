"""Find a position by content, where retention has taken what counting needs.

S  The last batch of ours before our marker stands in the source, and nothing that we appended
   follows it: where it stands in one place only, the copy goes on behind that place. It is looked
   for among as many deliverable records as may have been copied since the anchor.
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

_PATIENCE_S = 30.0  # without any progress
_GONE_S = 3.0


class TargetTail(NamedTuple):
    """What is known of a partition whose records could not be counted, or not all."""

    batch: bytes | None  # the last one of ours on the target
    least: int  # records of ours since the anchor that are on the target
    most: int  # that may have been appended since then
    passed: str  # what the target no longer holds; empty: it holds all, the source does not


async def without_anchor_range(
    source: Network, partitions: Sequence[PartitionCopy]
) -> set[PartitionCopy]:
    """Return the lanes whose anchors point to what the source no longer holds."""
    try:
        async with asyncio.timeout(_GONE_S):
            starts = await asyncio.gather(
                *(source.offset_at(each.source, EARLIEST_TIMESTAMP) for each in partitions)
            )
    except (TimeoutError, ReplicationError):
        return set()  # then it is met when it is fetched
    pairs = zip(partitions, starts, strict=True)
    return {
        partition
        for partition, start in pairs
        if partition.acked and partition.acked.source < start
    }


async def dispatch(source: Network, partition: PartitionCopy, tail: TargetTail) -> None:
    """Set ``partition`` behind the last batch of ours; where that is not known it stays as it was.

    If the target cannot be counted either it is parked. Raises ClusterUnavailable.
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
        told = "at several offsets" if places else "nowhere"
        if tail.batch is not None:
            told = f"our last batch on the target occurs {told} in the source"
        else:
            told = "the target has none of our records left"
        partition.halt(PartitionState.TARGET_RESET, f"{tail.passed}, and {told}")


async def _places(source: Network, partition: PartitionCopy, tail: TargetTail) -> list[int]:
    """Return the source offsets behind each place where the batch stands."""
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
    hole = start - (partition.claimed.source or 0)  # held that many records at most
    return [each.end for each in found if each.seen >= tail.least - hole]


class _Anyone(ProducerState):
    """Lets a lane take what it would copy, whoever would append it."""

    def producer_for(self, via: ReplicationPath) -> ProducerIdAndEpoch | None:
        return self.producer


@dataclass(slots=True)
class _Search:
    source: Network
    partition: PartitionCopy
    wanted: SearchedBatch
    most: int
    start: int  # of what the source holds; its first batch may begin before that

    async def run(self) -> list[Match]:
        partition = self.partition
        looking = PartitionCopy(
            partition.flow, partition.plan, partition.topic_id, partition.claimed
        )
        looking.queue.writer = _Anyone()
        looking.path_of, looking.recast = partition.path_of, partition.recast
        looking.position = partition.claimed.source or 0
        committed = partition.claimed.isolation != "read_uncommitted"
        options = FetchOptions(max_wait_ms=50, isolation=int(committed), line="search")
        deadline, buffer = time.monotonic() + _PATIENCE_S, FetchBuffer()
        while self.wanted.seen < self.most:
            before, found = looking.position, await self._fetch(looking, options, buffer)
            if found is not None:
                if partition.path_of is not None and partition.look_up is not None:
                    await partition.look_up(producer_ids(found.records))
                self._take(looking, found, buffer)
                if looking.position >= (found.stable if committed else found.high_watermark):
                    break
            if looking.position > before:
                deadline = time.monotonic() + _PATIENCE_S
            elif time.monotonic() > deadline:
                raise ClusterUnavailable(f"looking for our last batch in {partition.source}")
        return self.wanted.found

    def _take(self, looking: PartitionCopy, found: Fetched, buffer: FetchBuffer) -> None:
        take(looking, found, buffer)
        for producer_batch in looking.queue.waiting:
            (batch,) = walk(producer_batch.batch, looking.source)
            self.wanted.look_at(decode(batch, looking.source), producer_batch.offsets)
            producer_batch.release_buffer()
        looking.queue.waiting.clear()

    async def _fetch(
        self, looking: PartitionCopy, options: FetchOptions, into: FetchBuffer
    ) -> Fetched | None:
        """Fetch once; None: there is no answer yet."""
        leader = self.source.leader(looking.source)
        if leader is not None:
            at = max(looking.position, self.start)
            entry = FetchEntry(*looking.key, at, leader.epoch)
            (found,) = await self.source.fetch(leader.node, [entry], options, into)
            if not found.error:
                return found
        await asyncio.sleep(0.1)
        await self.source.refresh([looking.source.topic])
        return None
