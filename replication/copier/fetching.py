"""Fetch from one source broker, into reused buffers, and hand batches to their lanes.

The next Fetch is on its way before the batches of the last one are sent, as long as a buffer is
free. A buffer is free again when all its batches are acked, so read-ahead is bounded in bytes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.copier.network import Frame, SessionLost
from replication.copier.outcomes import (
    OFFSET_OUT_OF_RANGE,
    Remedy,
    Trouble,
    diverged,
    fetch_trouble,
    out_of_range,
)
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from replication.copier.lane import Lane
    from replication.copier.network import Fetched, FetchOptions, Network
    from replication.copier.wishes import Wishes

_LARGEST_FETCH = 16 << 20
_SMALL_FETCH = 64 << 10  # below this the source is not behind: let records gather a little
_GATHER_S = 0.004
_NOTHING_TO_FETCH_S = 0.05
_BACK_OFF_S = 0.5
_LOCATE_S = 5.0
_DISBELIEF_S = 0.1


class Frames:
    """The buffers of a unit: a fixed number, each as large as the largest response it held."""

    def __init__(self, count: int) -> None:
        self._free = deque(Frame(on_free=self._give_back) for _ in range(count))
        self._waiting: deque[asyncio.Future[None]] = deque()

    def try_take(self) -> Frame | None:
        """Return a held buffer, or None when all are in use."""
        if not self._free:
            return None
        frame = self._free.popleft()
        frame.hold()
        return frame

    async def take(self) -> Frame:
        """Return a held buffer as soon as one is free."""
        while (frame := self.try_take()) is None:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        return frame

    def replace(self, frame: Frame) -> None:
        """Leave ``frame`` to whoever writes into it; a new one takes its place."""
        frame.on_free = None
        self._give_back(Frame(on_free=self._give_back))

    def _give_back(self, frame: Frame) -> None:
        self._free.append(frame)
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


@dataclass(slots=True)
class Fetching:
    """All reading of a unit from one source broker."""

    node: int
    wishes: Wishes
    network: Network
    frames: Frames
    options: FetchOptions
    on_queued: Callable[[Sequence[Lane]], None]  # lanes have something to send
    settle: Callable[[Lane], None]  # a lane has trouble
    _frame: Frame | None = None

    async def run(self) -> None:
        """Fetch until cancelled. What the broker made of a former run's last Fetch is not known."""
        self.wishes.session.restart()
        answer: Awaitable[list[Fetched]] | None = None
        try:
            self._frame = await self.frames.take()
            while True:
                answer = answer or self._begin(self._frame)
                if answer is None:
                    await asyncio.sleep(_NOTHING_TO_FETCH_S)
                    continue
                answer = await self._round(self._frame, answer)
        finally:
            if self._frame is not None:  # an answer may still be on its way into it
                self.frames.replace(self._frame)

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
        news = [(lane, each) for each in found if (lane := self.wishes.lane_of(each)) is not None]
        size = sum(self._take(lane, each, frame) for lane, each in news)
        queued = [lane for lane, each in news if each.records]
        for lane in queued:
            self.wishes.served(lane)
        outside = [lane for lane, each in news if each.error == OFFSET_OUT_OF_RANGE]
        for lane, trouble in zip(outside, await self._locate(outside), strict=True):
            self._suffer(lane, trouble)
        if size < _SMALL_FETCH:
            self.on_queued(queued)
            await asyncio.sleep(_GATHER_S if size else 0)
        following = self.frames.try_take()
        begun = self._begin(following) if following is not None else None
        if size >= _SMALL_FETCH:
            self.on_queued(queued)
        self._frame = following
        frame.release()
        if self._frame is None:
            self._frame = await self.frames.take()
        return begun

    def _begin(self, frame: Frame) -> Awaitable[list[Fetched]] | None:
        """Send the next Fetch; None when no lane wants data now."""
        entries = self.wishes.tell()
        if entries is None:
            return None
        return self.network.fetch(self.node, entries, self.options, frame)

    def _take(self, lane: Lane, found: Fetched, frame: Frame) -> int:
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
            return lane.take(found, frame)
        except CorruptBatch as error:
            if lane.waiting:
                return 0  # what came before the damage is sent first; then it is met again
            self._suffer(lane, Trouble(Remedy.RETRY, str(error)))
            return 0
        finally:
            if lane.acked is not None and lane.acked.source >= lane.source_end:
                lane.caught_up_ms = int(time.time() * 1000)
                lane.stuck = None  # nothing is left that could be missing or refused

    def _diverges(self, lane: Lane, epoch: int, end: int) -> None:
        """Note that the source has not the batch that we took last, or not from that leader."""
        if end < lane.position:
            self._suffer(lane, diverged(lane.position, end))
        else:  # what came after our position is gone; nothing that was copied is
            lane.taken = (lane.position, epoch)
            lane.touch()

    async def _locate(self, lanes: Sequence[Lane]) -> list[Trouble]:
        return await asyncio.gather(*map(self._located, lanes))

    async def _located(self, lane: Lane) -> Trouble:
        """Ask what the source holds: the answer that refuses a position does not say."""
        try:
            async with asyncio.timeout(_LOCATE_S):
                start, end = await self._bounds(lane)
        except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
            return Trouble(Remedy.RETRY, str(problem) or "the source does not say what it holds")
        if start <= lane.position <= end:  # then what it could not find is our leader epoch
            lane.taken = (lane.position, -1)
        return out_of_range(lane.position, start, end)

    async def _bounds(self, lane: Lane) -> tuple[int, int]:
        """Return what a partition holds. An end before our position is asked for again.

        A leader that is new may not know yet how far its log is readable: it takes three answers
        to believe that records are gone.
        """
        for asked_again in range(3):
            if asked_again:
                await asyncio.sleep(_DISBELIEF_S)
                await self.network.refresh([lane.source.topic])
            start, end = await asyncio.gather(
                self.network.offset_at(lane.source, -2), self.network.offset_at(lane.source, -1)
            )
            if end >= lane.position:
                break
        return start, end

    def _all_wait(self, reason: str) -> None:
        for lane in self.wishes.lanes:
            if lane.fetches:
                self._suffer(lane, Trouble(Remedy.RETRY, reason))

    def _suffer(self, lane: Lane, trouble: Trouble) -> None:
        lane.suffer(trouble)
        self.settle(lane)


def frames_for(buffer_bytes: int, brokers: int) -> tuple[int, int]:
    """Return how many buffers a unit has and how large a Fetch may be, within ``buffer_bytes``.

    Two a broker at least: one under way while the other is being appended.
    """
    count = max(4, 2 * brokers + 1)
    return count, min(_LARGEST_FETCH, max(1 << 20, buffer_bytes // count))
