"""What an answer of a source broker says of each lane, and what fetchers of a unit share.

Some answers do not say enough: a refused position is looked for in the source's log, and a readable
end that stands still shows that a transaction at the source stays open.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.log_end import believed_end
from replication.copier.partition.broker_errors import (
    LEADER_MOVED,
    Remedy,
    Trouble,
    diverged,
    fetch_trouble,
    out_of_range,
)
from replication.copier.partition.intake import take
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch
from replication.model import EARLIEST_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.client.fetch_values import Fetched, Frame, Leader
    from replication.client.network import Network
    from replication.client.preferred_replicas import Replicas
    from replication.copier.fetch.buffer_pool import Frames
    from replication.copier.fetch.throttle import Pace
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Appending

HELD_S = 5.0  # transactions of applications are shorter
_LOCATE_S = 5.0


@dataclass(slots=True)
class Held:
    """Remembers since when each lane's last stable offset has been what it is."""

    _since: dict[Lane, tuple[int, float]] = field(default_factory=dict)

    def heard(self, lane: Lane, found: Fetched, now: float) -> None:
        """Take in an answer to a reader of committed records; say so when it is held for long."""
        if not found.stable < found.high_watermark or lane.position < found.stable:
            self._since.pop(lane, None)
            lane.held = ""
            return
        offset, since = self._since.setdefault(lane, (found.stable, now))
        if offset != found.stable:
            self._since[lane] = found.stable, now
            lane.held = ""
        elif now - since >= HELD_S:
            behind = found.high_watermark - found.stable
            lane.held = (
                f"blocked by an open transaction at offset {found.stable} of the source; "
                f"{behind} later offsets wait until it ends"
            )


@dataclass(frozen=True, slots=True)
class Shared:
    """What all fetchers of a unit share."""

    network: Network
    committed: bool  # the source is asked for committed records only
    frames: Frames
    pace: Pace
    replicas: Replicas
    sender: Appending
    producers: Producers
    on_moved: Callable[[Lane], None]  # a lane is to be read from another broker
    held: Held = field(default_factory=Held)


@dataclass(frozen=True, slots=True)
class Taking:
    """Takes in what broker ``node`` answers."""

    node: int
    shared: Shared

    def take(self, lane: Lane, found: Fetched, frame: Frame) -> tuple[int, bool]:
        """Queue what is to be copied, or note what is wrong.

        Returns how many bytes were queued, and whether the position is not in the source's log:
        then ``locate`` finds out what is.
        """
        goes_elsewhere = self._goes_elsewhere(lane, found)
        if found.error:
            is_outside = found.error == ErrorCode.OFFSET_OUT_OF_RANGE
            if not goes_elsewhere and not is_outside:
                self.suffer(lane, fetch_trouble(found.error))
            return 0, is_outside
        if goes_elsewhere:
            return 0, False
        if found.diverging is not None:
            self._diverges(lane, *found.diverging)
            return 0, False
        return self._queue(lane, found, frame), False

    def _queue(self, lane: Lane, found: Fetched, frame: Frame) -> int:
        lane.source_end = found.stable if self.shared.committed else found.high_watermark
        lane.news.add(lane)
        try:
            return take(lane, found, frame, int(time.time() * 1000))
        except CorruptBatch as error:
            if lane.queue.waiting:
                return 0  # what came before the damage is sent first; then it is met again
            self.suffer(lane, Trouble(Remedy.RETRY, str(error)))
            return 0
        finally:
            if self.shared.committed:
                self.shared.held.heard(lane, found, time.monotonic())
            self.shared.pace.heard(lane)
            if lane.acked is not None and lane.acked.source >= lane.source_end:
                lane.counters.caught_up_ms = int(time.time() * 1000)
                lane.stuck = None  # nothing is left that could be missing or refused

    def _goes_elsewhere(self, lane: Lane, found: Fetched) -> bool:
        """Follow a leader's hint at a replica near us; leave one that has not what we want."""
        if found.error in LEADER_MOVED and found.leader and self._follows(lane, found.leader):
            return True
        replicas, now = self.shared.replicas, time.monotonic()
        if not self._leads(lane) and (found.error or found.diverging):
            replicas.give_up(lane.source, now)
        elif found.preferred_replica >= 0 and found.preferred_replica != self.node:
            replicas.prefer(lane.source, found.preferred_replica, now)
        else:
            return False
        self.shared.on_moved(lane)
        return True

    def _follows(self, lane: Lane, leader: Leader) -> bool:
        """Read on at once from the leader that the former one names, if its address is known."""
        if leader.node == self.node or not self.shared.network.learn(lane.source, leader):
            return False
        self.shared.on_moved(lane)
        return True

    def _leads(self, lane: Lane) -> bool:
        return self.shared.replicas.of(lane.source, time.monotonic()) != self.node

    def _diverges(self, lane: Lane, epoch: int, end: int) -> None:
        """Note that the source has not the batch that we took last, or not from that leader."""
        if end < lane.position:
            self.suffer(lane, diverged(lane.position, end))
        else:  # what came after our position is gone; nothing that was copied is
            lane.go_on_at(lane.position, epoch)

    def all_wait(self, lanes: Iterable[Lane], reason: str) -> None:
        """Hold ``lanes`` back: the broker did not answer. A replica near us is left for good."""
        for lane in lanes:
            if not self._leads(lane):
                self.shared.replicas.give_up(lane.source, time.monotonic())
                self.shared.on_moved(lane)
            elif lane.fetches:
                self.suffer(lane, Trouble(Remedy.RETRY, reason))

    def suffer(self, lane: Lane, trouble: Trouble) -> None:
        """Note trouble of a lane; it is dealt with when no answer is due."""
        lane.suffer(trouble)
        self.shared.sender.settle(lane)


async def locate(source: Network, lanes: Iterable[Lane]) -> list[Trouble]:
    """Return what to make of each lane's position."""
    return await asyncio.gather(*(_located(source, each) for each in lanes))


async def _located(source: Network, lane: Lane) -> Trouble:
    try:
        async with asyncio.timeout(_LOCATE_S):
            end = await believed_end(source, lane.source, lane.position)
            start = await source.offset_at(lane.source, EARLIEST_TIMESTAMP)
    except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
        return Trouble(Remedy.RETRY, str(problem) or "the source does not return its offset range")
    if start <= lane.position <= end:  # then what it could not find is our leader epoch
        lane.go_on_at(lane.position)
    return out_of_range(lane.position, start, end)
