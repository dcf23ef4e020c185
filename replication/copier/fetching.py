"""Fetch from one source broker, into reused buffers, and hand batches to their lanes.

The next Fetch is on its way before the batches of the last one are sent, as long as a buffer is
free. A buffer is free again when all its batches are acked, so read-ahead is bounded in bytes.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

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
from replication.copier.thrift import Thrift
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from replication.copier.frames import Frames
    from replication.copier.lane import Lane
    from replication.copier.network import Fetched, FetchOptions, Frame, Leader, Network
    from replication.copier.pace import Pace
    from replication.copier.replicas import Replicas
    from replication.copier.wishes import Wishes

    News = tuple[Lane, Fetched]

_SMALL_FETCH = 64 << 10  # below this the source is not behind
_REST_S = 0.001  # in which records gather; the event loop's clock is no finer
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
    ready: Callable[[Sequence[News]], bool]  # all of it can be taken in as it is
    prepare: Callable[[Sequence[News]], Awaitable[None]]  # makes it so
    held: Held = field(default_factory=Held)


class _Stop(NamedTuple):
    """Why the fetching stopped: an answer that takes more than a moment, or none is due."""

    answer: tuple[Frame, Sequence[Fetched]] | None = None  # it lies in the frame
    problem: Exception | None = None


@dataclass(slots=True)
class Fetching:
    """Reading from one source broker: of priority topics (``first``) or of the others.

    An ordinary answer is taken in, sent on and followed by the next Fetch in the turn of the event
    loop that it came in. What has to wait for something stops that; then ``run`` goes on.
    """

    node: int
    first: bool
    wishes: Wishes
    shared: Shared
    options: FetchOptions
    _frame: Frame | None = None
    _begun: float = 0.0
    _stopped: asyncio.Future[_Stop] = field(init=False)
    _pause: asyncio.TimerHandle | None = None
    _thrift: Thrift = field(default_factory=Thrift)

    async def run(self) -> None:
        """Fetch until cancelled. What the broker made of a former run's last Fetch is not known."""
        self.wishes.session.restart()
        try:
            while True:
                self._stopped = asyncio.get_running_loop().create_future()
                if self._frame is None:
                    self._frame = await self.shared.frames.take()
                if self._begin(self._frame):
                    await self._go_on()
                else:
                    await asyncio.sleep(_NOTHING_TO_FETCH_S)
        finally:
            if self._pause is not None:
                self._pause.cancel()
            if self._frame is not None:  # an answer may still be on its way into it
                self.shared.frames.replace(self._frame)

    async def _go_on(self) -> None:
        """Do what takes a while, until no answer is due."""
        while (stop := await self._stopped).answer is not None:
            frame, found = stop.answer
            await self._get_ready(found)
            self._stopped = asyncio.get_running_loop().create_future()
            self._take_all(self._news(found), frame)
        if isinstance(stop.problem, SessionLost):
            return  # the next Fetch opens a new one
        if isinstance(stop.problem, ClusterUnavailable | ClusterRejected):
            self.wishes.session.restart()
            self._all_wait(str(stop.problem))
            await asyncio.sleep(_BACK_OFF_S)
        elif stop.problem is not None:
            raise stop.problem

    def _begin(self, frame: Frame) -> bool:
        """Send the next Fetch, unless no lane wants data now, or none may have it yet."""
        now, pace = time.monotonic(), self.shared.pace
        if pace.pause_s(now, self._begun, first=self.first) > 0:
            return False
        entries = self.wishes.tell()
        if entries is None:
            return False
        self._begun = now
        options = pace.shared(self.options, first=self.first)
        if (rack := self.shared.replicas.rack_at(now)) != options.rack:
            options = replace(options, rack=rack)
        answer = partial(self._answered, self._stopped, frame)
        self.shared.network.begin_fetch(self.node, entries, options, frame, answer)
        return True

    def _answered(
        self,
        stopped: asyncio.Future[_Stop],
        frame: Frame,
        found: Sequence[Fetched] | None,
        problem: Exception | None,
    ) -> None:
        """Take an answer in at once, if nothing has to be found out before."""
        if stopped.done():
            return  # nobody waits for it any more
        if found is None:
            stopped.set_result(_Stop(problem=problem))
            return
        try:
            news = self._news(found)
            outside = any(each.error == OFFSET_OUT_OF_RANGE for _, each in news)
            if outside or not self.shared.ready(news):
                stopped.set_result(_Stop((frame, found)))
            else:
                self._take_all(news, frame)
        except Exception as error:  # noqa: BLE001 -- else the event loop only logs it
            stopped.set_exception(error)

    async def _get_ready(self, found: Sequence[Fetched]) -> None:
        """Find out what has to be known before an answer can be taken in."""
        if not self.shared.ready(news := self._news(found)):
            await self.shared.prepare(news)
        outside = [
            lane
            for lane, each in self._news(found)
            if each.error == OFFSET_OUT_OF_RANGE and not self._goes_elsewhere(lane, each)
        ]
        for lane, trouble in zip(outside, await locate(self.shared.network, outside), strict=True):
            self._suffer(lane, trouble)

    def _take_all(self, news: Sequence[News], frame: Frame) -> None:
        """Take in what was fetched, send it on, and begin the next Fetch.

        What is large is sent after that, so that the source's broker works meanwhile.
        """
        now = time.monotonic()
        self.shared.pace.spend(sum(len(each.records) for _, each in news), now)
        size = sum(self._take(lane, each, frame) for lane, each in news)
        queued = [lane for lane, each in news if each.records]
        for lane in queued:
            self.wishes.served(lane)
        if size >= _SMALL_FETCH:
            self._follow()
            self.shared.on_queued(queued)
            frame.release()
            return
        self.shared.on_queued(queued)
        self._frame = None
        frame.release()
        if size and self._thrift.rests(now):
            self._pause = asyncio.get_running_loop().call_later(_REST_S, self._follow)
        else:
            self._follow()

    def _follow(self) -> None:
        """Begin the next Fetch, into another buffer; where that cannot be, ``run`` waits."""
        self._frame = self.shared.frames.try_take()
        if self._frame is None or not self._begin(self._frame):
            self._stopped.set_result(_Stop())

    def _news(self, found: Sequence[Fetched]) -> list[News]:
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
