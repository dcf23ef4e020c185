"""Take partitions over from whoever appended to them before.

B  After an unclean end nothing about the target is believed before our own fence marker stands in
   the partition. Taking over is: a new producer epoch, an empty transaction on the target
   partitions, its abort. From the marker on the broker refuses the former appender.
F  A producer id is in the registry on the target, acked, before its first append.
G  A clean end needs no marker: the next owner only takes a new epoch.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.batches import walk
from replication.copier.network import FetchEntry, FetchOptions, Frame
from replication.errors import ClusterUnavailable, FlowTaken
from replication.model import PartitionState, TopicPartition
from replication.progress import (
    Claimant,
    OwnRecords,
    Position,
    claim,
    missing_appenders,
    outranks,
)
from replication.state import Anchor, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.copier.lane import Lane
    from replication.copier.logs import StateLog
    from replication.copier.network import Network

_MARKER_PATIENCE_S = 30.0
_REQUEST_TIMEOUT_S = 30.0  # how long a request of a former producer id may still be on its way


@dataclass(slots=True)
class Takeover:
    """Claims partitions for one unit; remembers the anchors that it has read."""

    flow: str
    target: Network
    anchors: StateLog
    registry: StateLog
    seen: dict[TopicPartition, Anchor] = field(default_factory=dict)

    async def read_anchors(self) -> list[Anchor]:
        """Read on to the end of the anchors; return those of the flow that came."""
        came = [
            each
            for each in await self.anchors.read_on()
            if isinstance(each, Anchor) and each.flow == self.flow
        ]
        self.seen.update({TopicPartition(each.topic, each.partition): each for each in came})
        return came

    async def register(self, me: Claimant, origin: str) -> None:
        """Write the producer id to the registry unless an anchor shows that it is there (F).

        ``origin`` is the id of the cluster that the records come from.
        """
        mine = (me.transactional_id, me.producer_id)
        if any(mine in each.appenders for each in self.seen.values()):
            return
        entry = ProducerEntry(
            me.producer_id, self.flow, origin, me.transactional_id, int(time.time() * 1000)
        )
        await self.registry.append([entry])

    async def take(self, lanes: Sequence[Lane], me: Claimant) -> int:
        """Claim ``lanes``, fence who else may append to them, and find their positions.

        Each lane's ``claimed`` is the last anchor known, or one of a clean start. Returns how many
        partitions had to be fenced and counted. Raises FlowTaken when someone of a higher rank
        claims one of them, ClusterUnavailable when the target does not answer in time.
        """
        unclean = {lane for lane in lanes if not lane.claimed.clean}
        for lane in lanes:
            lane.claimed = claim(lane.claimed, me)
        unclean |= await self._claim(lanes, me)
        for lane in lanes:
            _begin(lane, me, exact=lane not in unclean)
        if unclean:
            await self._fence_and_count(sorted(unclean, key=lambda each: each.target), me)
            await self._claim(lanes, me, again=False)  # in case a late anchor covered a claim
        return len(unclean)

    async def _claim(self, lanes: Sequence[Lane], me: Claimant, *, again: bool = True) -> set[Lane]:
        """Write the claims until no stranger's claim stands between them and the log's end.

        Returns the lanes on which a stranger was met. Without ``again`` claims are written only
        where a stranger's record came after ours.
        """
        by_key = {each.source: each for each in lanes}
        met: set[Lane] = set()
        to_write = list(lanes) if again else []
        while True:
            await self.anchors.append([each.claimed for each in to_write])
            strangers = [
                each
                for each in await self.read_anchors()
                if TopicPartition(each.topic, each.partition) in by_key and not _is_mine(each, me)
            ]
            to_write = []
            for theirs in strangers:
                if outranks(theirs, me):
                    raise FlowTaken(
                        f"{self.flow}: another driver (generation {theirs.generation}) "
                        f"has taken {theirs.topic}-{theirs.partition} over"
                    )
                lane = by_key[TopicPartition(theirs.topic, theirs.partition)]
                more = missing_appenders(theirs, lane.claimed)
                lane.claimed = replace(lane.claimed, appenders=(*more, *lane.claimed.appenders))
                to_write.append(lane)
                met.add(lane)
            if not to_write:
                return met

    async def _fence_and_count(self, lanes: Sequence[Lane], me: Claimant) -> None:
        """Put our marker into each partition, then count what is ours before it (B, C)."""
        producers: dict[str, tuple[int, int]] = {}
        for transactional_id in _transactional_ids(lanes):
            if transactional_id == me.transactional_id:
                producer = (me.producer_id, me.epoch)
            else:
                producer = await self.target.init_producer_id(transactional_id)
            producers[transactional_id] = producer
            theirs = [each.target for each in lanes if _may_append(each, transactional_id)]
            await self.target.fence(transactional_id, producer, [*theirs, self.anchors.partition])
        if _unfenced_ids(lanes, producers):
            # The transactional id has expired or used up its epochs: our marker does not stop the
            # former producer id, but none of its requests can be on its way any longer after this.
            await asyncio.sleep(_REQUEST_TIMEOUT_S)
        await self.anchors.wait_for_markers(dict(producers.values()))
        await count_own(self.target, lanes, producers)


def _begin(lane: Lane, me: Claimant, *, exact: bool) -> None:
    """Set a lane to its anchor; ``exact`` when nothing has to be counted (G)."""
    anchor = lane.claimed
    lane.forget()
    lane.acked = Position(anchor.source or 0, anchor.target or 0)
    lane.position, lane.skip, lane.exact = anchor.source or 0, 0, exact
    lane.producer, lane.sequence = (me.producer_id, me.epoch), 0
    lane.records, lane.bytes = anchor.records, anchor.bytes
    lane.state, lane.reason = PartitionState.RUNNING, ""


async def count_own(
    target: Network, lanes: Sequence[Lane], producers: Mapping[str, tuple[int, int]]
) -> None:
    """Read the target from each lane's anchor to our markers; set what the lane has to skip."""
    counts = {
        lane: OwnRecords(
            lane.acked.target if lane.acked else 0,
            {producer_id for _, producer_id in lane.claimed.appenders},
            {
                producer_id: epoch
                for transactional_id, (producer_id, epoch) in producers.items()
                if _may_append(lane, transactional_id)
            },
        )
        for lane in lanes
    }
    deadline = time.monotonic() + _MARKER_PATIENCE_S
    frame = Frame()
    while missing := [lane for lane, count in counts.items() if not count.complete]:
        if time.monotonic() > deadline:
            raise ClusterUnavailable(f"waiting for our fence marker in {missing[0].target}")
        await _read_some(target, missing, counts, frame)
    for lane, count in counts.items():
        lane.skip = count.records
        lane.records += count.records
        lane.bytes += count.bytes
        if count.records == 0 and lane.acked is not None:
            lane.acked, lane.exact = Position(lane.acked.source, count.next_offset), True


async def _read_some(
    target: Network, lanes: Sequence[Lane], counts: Mapping[Lane, OwnRecords], frame: Frame
) -> None:
    """Fetch once from one leader of the partitions whose markers are missing."""
    leader = target.leader(lanes[0].target)
    entries: list[FetchEntry] = []
    by_entry: dict[tuple[bytes, int], Lane] = {}
    for lane in lanes:
        topic_id = target.topic_id(lane.target.topic)
        if topic_id is not None and leader is not None and target.leader(lane.target) == leader:
            entries.append(FetchEntry(topic_id, lane.target.partition, counts[lane].next_offset))
            by_entry[topic_id, lane.target.partition] = lane
    if leader is None or not entries:
        await asyncio.sleep(0.1)
        await target.refresh({lane.target.topic for lane in lanes})
        return
    options = FetchOptions(max_wait_ms=50)
    for found in await target.fetch(leader.node, entries, options, frame, line="count"):
        lane = by_entry[found.topic_id, found.partition]
        if found.error:
            await target.refresh([lane.target.topic])
            continue
        for batch in walk(found.records, lane.target):
            counts[lane].add(batch)


def _is_mine(anchor: Anchor, me: Claimant) -> bool:
    last = anchor.appenders[-1:]
    return last == ((me.transactional_id, me.producer_id),) and (
        (anchor.generation, anchor.epoch) == me.rank
    )


def _transactional_ids(lanes: Iterable[Lane]) -> list[str]:
    return sorted({name for lane in lanes for name, _ in lane.claimed.appenders})


def _may_append(lane: Lane, transactional_id: str) -> bool:
    return any(name == transactional_id for name, _ in lane.claimed.appenders)


def _unfenced_ids(
    lanes: Iterable[Lane], producers: Mapping[str, tuple[int, int]]
) -> set[tuple[str, int]]:
    """Return appenders whose producer id our markers do not carry."""
    listed = {each for lane in lanes for each in lane.claimed.appenders}
    return {(name, number) for name, number in listed if producers[name][0] != number}
