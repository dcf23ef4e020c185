"""Fetch from one source broker, into reused buffers, and hand batches to their lanes.

The next Fetch is on its way before the batches of the last one are sent, as long as a buffer is
free. A buffer is free again when all its batches are acked, so read-ahead is bounded in bytes.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.copier.held import Held
from replication.copier.intake import take
from replication.copier.locating import locate
from replication.copier.network import SessionLost
from replication.copier.outcomes import (
    LEADER_MOVED,
    OFFSET_OUT_OF_RANGE,
    Remedy,
    Trouble,
    diverged,
    fetch_trouble,
)
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from replication.copier.frames import Frames
    from replication.copier.lane import Lane
    from replication.copier.network import Fetched, FetchOptions, Frame, Leader, Network
    from replication.copier.pace import Pace
    from replication.copier.replicas import Replicas
    from replication.copier.wishes import Wishes

_SMALL_FETCH = 64 << 10  # below this the source is not behind: let records gather a little
_GATHER_S = 0.0015
_NOTHING_TO_FETCH_S = 0.05
_BACK_OFF_S = 0.5


@dataclass(frozen=True, slots=True)
class Shared:
    """What all fetchers of a unit share."""

    network: Network
    frames: Frames
    pace: Pace
    replicas: Replicas
    on_queued: Callable[[Sequence[Lane]], None]  # lanes have something to send
    settle: Callable[[Lane], None]  # a lane has trouble
    on_moved: Callable[[Lane], None]  # a lane is to be read from another broker
    prepare: Callable[[Sequence[tuple[Lane, Fetched]]], Awaitable[bool]]
    held: Held = field(default_factory=Held)


@dataclass(slots=True)
class Fetching:
    """Reading from one source broker: of priority topics (``first``) or of the others."""

    node: int
    first: bool
    wishes: Wishes
    shared: Shared
    options: FetchOptions
    _frame: Frame | None = None
    _begun: float = 0.0

    @property
    def line(self) -> str:
        """Name of the connection: what is read first must not wait behind a long poll."""
        return "fetch first" if self.first else "fetch"

    async def run(self) -> None:
        """Fetch until cancelled. What the broker made of a former run's last Fetch is not known."""
        self.wishes.session.restart()
        answer: Awaitable[list[Fetched]] | None = None
        frames = self.shared.frames
        try:
            self._frame = await frames.take()
            while True:
                answer = answer or self._begin(self._frame)
                if answer is None:
                    await asyncio.sleep(_NOTHING_TO_FETCH_S)
                    continue
                answer = await self._round(self._frame, answer)
        finally:
            if self._frame is not None:  # an answer may still be on its way into it
                frames.replace(self._frame)

    async def _round(
        self, frame: Frame, answer: Awaitable[list[Fetched]]
    ) -> Awaitable[list[Fetched]] | None:
        """Take one answer in; return the next one if it is under way already."""
        try:
            found = await answer
        except SessionLost:
            return None  # the next Fetch opens a new one
        except (ClusterUnavailable, ClusterRejected) as error:
            self.wishes.session.restart()
            self._all_wait(str(error))
            await asyncio.sleep(_BACK_OFF_S)
            return None
        size, queued = await self._take_all(found, frame)
        if size < _SMALL_FETCH:
            self.shared.on_queued(queued)
            await asyncio.sleep(_GATHER_S if size else 0)
        following = self.shared.frames.try_take()
        begun = self._begin(following) if following is not None else None
        if size >= _SMALL_FETCH:
            self.shared.on_queued(queued)
        self._frame = following
        frame.release()
        if self._frame is None:
            self._frame = await self.shared.frames.take()
        return begun

    def _begin(self, frame: Frame) -> Awaitable[list[Fetched]] | None:
        """Send the next Fetch; None when no lane wants data now, or none may have it yet."""
        now, pace = time.monotonic(), self.shared.pace
        if pace.pause_s(now, self._begun, first=self.first) > 0:
            return None
        entries = self.wishes.tell()
        if entries is None:
            return None
        self._begun = now
        options = pace.shared(self.options, first=self.first)
        if (rack := self.shared.replicas.rack_at(now)) != options.rack:
            options = replace(options, rack=rack)
        return self.shared.network.fetch(self.node, entries, options, frame, self.line)

    async def _take_all(self, found: Sequence[Fetched], frame: Frame) -> tuple[int, list[Lane]]:
        """Return how many bytes an answer queued, and the lanes that have something to send."""
        news = self._news(found)
        if await self.shared.prepare(news):
            news = self._news(found)
        self.shared.pace.spend(sum(len(each.records) for each in found), time.monotonic())
        size = sum(self._take(lane, each, frame) for lane, each in news)
        queued = [lane for lane, each in news if each.records]
        for lane in queued:
            self.wishes.served(lane)
        outside = [
            lane
            for lane, each in news
            if each.error == OFFSET_OUT_OF_RANGE and lane in self.wishes.lanes
        ]
        for lane, trouble in zip(outside, await locate(self.shared.network, outside), strict=True):
            self._suffer(lane, trouble)
        return size, queued

    def _news(self, found: Sequence[Fetched]) -> list[tuple[Lane, Fetched]]:
        return [(lane, each) for each in found if (lane := self.wishes.lane_of(each)) is not None]

    def _take(self, lane: Lane, found: Fetched, frame: Frame) -> int:
        if self._goes_elsewhere(lane, found):
            return 0
        if found.error:
            if found.error != OFFSET_OUT_OF_RANGE:
                self._suffer(lane, fetch_trouble(found.error))
            return 0
        if found.diverging is not None:
            self._diverges(lane, *found.diverging)
            return 0
        lane.source_end = found.stable if self.options.isolation else found.high_watermark
        lane.news.add(lane)
        try:
            return take(lane, found, frame, int(time.time() * 1000))
        except CorruptBatch as error:
            if lane.waiting:
                return 0  # what came before the damage is sent first; then it is met again
            self._suffer(lane, Trouble(Remedy.RETRY, str(error)))
            return 0
        finally:
            if self.options.isolation:
                self.shared.held.heard(lane, found, time.monotonic())
            self.shared.pace.heard(lane)
            if lane.acked is not None and lane.acked.source >= lane.source_end:
                lane.caught_up_ms = int(time.time() * 1000)
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
            self._suffer(lane, diverged(lane.position, end))
        else:  # what came after our position is gone; nothing that was copied is
            lane.taken = (lane.position, epoch)
            lane.touch()

    def _all_wait(self, reason: str) -> None:
        for lane in list(self.wishes.lanes):
            if not self._leads(lane):
                self.shared.replicas.give_up(lane.source, time.monotonic())
                self.shared.on_moved(lane)
            elif lane.fetches:
                self._suffer(lane, Trouble(Remedy.RETRY, reason))

    def _suffer(self, lane: Lane, trouble: Trouble) -> None:
        lane.suffer(trouble)
        self.shared.settle(lane)
