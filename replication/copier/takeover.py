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

from replication.copier.counting import count_own, may_append
from replication.copier.outcomes import Remedy, Trouble, stuck_as
from replication.errors import ClusterRejected, FlowTaken
from replication.model import PartitionState, TopicPartition
from replication.progress import (
    Claimant,
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

_COUNTING = Trouble(Remedy.TAKE_OVER, "counting what is on the target already")
_MOST_CLAIMS = 20  # rounds; late records of a fenced appender take two
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
        now = int(time.time() * 1000)
        entry = ProducerEntry(
            me.producer_id, self.flow, origin, me.transactional_id, now, me.generation
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
        where a stranger's record came after ours. Raises ClusterRejected when a stranger of the
        same rank does not give way, which no plan asks of two units.
        """
        met: set[Lane] = set()
        to_write = set(lanes) if again else set()
        for _ in range(_MOST_CLAIMS):
            await self.anchors.append([each.claimed for each in to_write])
            to_write = await self.heed(lanes, me)
            met |= to_write
            if not to_write:
                return met
        contested = min(each.source for each in to_write)
        raise ClusterRejected(
            f"{self.flow}: another unit of this driver claims {contested} again and again; "
            "each partition must belong to one unit"
        )

    async def heed(self, lanes: Sequence[Lane], me: Claimant) -> set[Lane]:
        """Read on; return the lanes that a stranger claimed, now listed as an appender of theirs.

        Raises FlowTaken when the stranger outranks us.
        """
        by_key = {each.source: each for each in lanes}
        met: set[Lane] = set()
        for theirs in await self.read_anchors():
            lane = by_key.get(TopicPartition(theirs.topic, theirs.partition))
            if lane is None or _is_mine(theirs, me):
                continue
            if outranks(theirs, me):
                raise FlowTaken(
                    f"{self.flow}: another driver (generation {theirs.generation}) "
                    f"has taken {theirs.topic}-{theirs.partition} over"
                )
            more = missing_appenders(theirs, lane.claimed)
            lane.claimed = replace(lane.claimed, appenders=(*more, *lane.claimed.appenders))
            met.add(lane)
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
            theirs = [each.target for each in lanes if may_append(each, transactional_id)]
            await self.target.fence(transactional_id, producer, [*theirs, self.anchors.partition])
        if _unfenced_ids(lanes, producers):
            # The transactional id has expired or used up its epochs: our marker does not stop the
            # former producer id, but none of its requests can be on its way any longer after this.
            await asyncio.sleep(_REQUEST_TIMEOUT_S)
        await self.anchors.wait_for_markers(dict(producers.values()))
        await count_own(self.target, lanes, producers)


def _begin(lane: Lane, me: Claimant, *, exact: bool) -> None:
    """Set a lane to its anchor; ``exact`` when nothing has to be counted (G).

    Otherwise it is held back until that is done: fetching now would repeat what is there.
    """
    anchor = lane.claimed
    lane.forget()
    lane.acked = Position(anchor.source or 0, anchor.target or 0)
    lane.position, lane.skip, lane.exact = anchor.source or 0, 0, exact
    lane.taken = lane.done = anchor.source or 0, anchor.source_epoch
    lane.producer, lane.sequence = (me.producer_id, me.epoch), 0
    lane.proven = lane.unsure = False
    lane.counted, lane.found = 0, (0, 0)
    lane.records, lane.bytes, lane.lost = anchor.records, anchor.bytes, anchor.lost
    lane.state, lane.reason = PartitionState.RUNNING, ""
    lane.stuck = stuck_as(anchor)
    lane.trouble = None if exact else _COUNTING


def _is_mine(anchor: Anchor, me: Claimant) -> bool:
    last = anchor.appenders[-1:]
    return last == ((me.transactional_id, me.producer_id),) and (
        (anchor.generation, anchor.epoch) == me.rank
    )


def _transactional_ids(lanes: Iterable[Lane]) -> list[str]:
    return sorted({name for lane in lanes for name, _ in lane.claimed.appenders})


def _unfenced_ids(
    lanes: Iterable[Lane], producers: Mapping[str, tuple[int, int]]
) -> set[tuple[str, int]]:
    """Return appenders whose producer id our markers do not carry."""
    listed = {each for lane in lanes for each in lane.claimed.appenders}
    return {(name, number) for name, number in listed if producers[name][0] != number}
