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
from replication.client.fetch_values import FetchEntry, Frame
from replication.copier.partition.intake import take
from replication.copier.partition.partition_copy import Lane
from replication.copier.partition.position import Position
from replication.copier.partition.producer_state import Writer
from replication.errors import ClusterUnavailable, CorruptBatch, ReplicationError
from replication.model import EARLIEST_TIMESTAMP, PartitionState, ProducerIdAndEpoch
from replication.records.batch import producer_ids, walk
from replication.records.codec import decode
from replication.records.content_search import Match, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.provenance.origins import Via

_PATIENCE_S = 30.0  # without any progress
_GONE_S = 3.0


class Tail(NamedTuple):
    """What is known of a partition whose records could not be counted, or not all."""

    batch: bytes | None  # the last one of ours on the target
    least: int  # records of ours since the anchor that are on the target
    most: int  # that may have been appended since then
    passed: str  # what the target no longer holds; empty: it holds all, the source does not


async def without_anchor_range(source: Network, lanes: Sequence[Lane]) -> set[Lane]:
    """Return the lanes whose anchors point to what the source no longer holds."""
    try:
        async with asyncio.timeout(_GONE_S):
            starts = await asyncio.gather(
                *(source.offset_at(each.source, EARLIEST_TIMESTAMP) for each in lanes)
            )
    except (TimeoutError, ReplicationError):
        return set()  # then it is met when it is fetched
    pairs = zip(lanes, starts, strict=True)
    return {lane for lane, start in pairs if lane.acked and lane.acked.source < start}


async def settle(source: Network, lane: Lane, tail: Tail) -> None:
    """Set ``lane`` behind the last batch of ours; where that is not known it stays as it was.

    If the target cannot be counted either it is parked. Raises ClusterUnavailable.
    """
    places = [] if tail.batch is None else await _places(source, lane, tail)
    if len(places) == 1:
        lane.go_on_at(places[0])
        lane.skip, lane.done = 0, lane.fetched_to
        lane.moved_to(Position(places[0], lane.counted))
        lane.remark = f"after an unclean shutdown the position {places[0]} was found by content"
    elif tail.passed:
        told = "at several offsets" if places else "nowhere"
        if tail.batch is not None:
            told = f"our last batch on the target occurs {told} in the source"
        else:
            told = "the target has none of our records left"
        lane.park(PartitionState.TARGET_RESET, f"{tail.passed}, and {told}")


async def _places(source: Network, lane: Lane, tail: Tail) -> list[int]:
    """Return the source offsets behind each place where the batch stands."""
    try:
        (batch,) = walk(memoryview(tail.batch or b""), lane.target)
        start = await source.offset_at(lane.source, EARLIEST_TIMESTAMP)
        start = max(start, lane.claimed.source or 0)
        search = _Search(source, lane, Wanted(batch, lane.target), tail.most, start)
        found = await search.run()
    except CorruptBatch:
        return []
    hole = start - (lane.claimed.source or 0)  # held that many records at most
    return [each.end for each in found if each.seen >= tail.least - hole]


class _Anyone(Writer):
    """Lets a lane take what it would copy, whoever would append it."""

    def producer_for(self, via: Via) -> ProducerIdAndEpoch | None:
        return self.producer


@dataclass(slots=True)
class _Search:
    source: Network
    lane: Lane
    wanted: Wanted
    most: int
    start: int  # of what the source holds; its first batch may begin before that

    async def run(self) -> list[Match]:
        lane = self.lane
        looking = Lane(lane.flow, lane.plan, lane.topic_id, lane.claimed)
        looking.queue.writer = _Anyone()
        looking.passage, looking.recast = lane.passage, lane.recast
        looking.position = lane.claimed.source or 0
        committed = lane.claimed.isolation != "read_uncommitted"
        options = FetchOptions(max_wait_ms=50, isolation=int(committed), line="search")
        deadline, frame = time.monotonic() + _PATIENCE_S, Frame()
        while self.wanted.seen < self.most:
            before, found = looking.position, await self._fetch(looking, options, frame)
            if found is not None:
                if lane.passage is not None and lane.look_up is not None:
                    await lane.look_up(producer_ids(found.records))
                self._take(looking, found, frame)
                if looking.position >= (found.stable if committed else found.high_watermark):
                    break
            if looking.position > before:
                deadline = time.monotonic() + _PATIENCE_S
            elif time.monotonic() > deadline:
                raise ClusterUnavailable(f"looking for our last batch in {lane.source}")
        return self.wanted.found

    def _take(self, looking: Lane, found: Fetched, frame: Frame) -> None:
        take(looking, found, frame)
        for piece in looking.queue.waiting:
            (batch,) = walk(piece.batch, looking.source)
            self.wanted.look_at(decode(batch, looking.source), piece.offsets)
            piece.let_go()
        looking.queue.waiting.clear()

    async def _fetch(self, looking: Lane, options: FetchOptions, into: Frame) -> Fetched | None:
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
