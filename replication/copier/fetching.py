"""Fetch from one source broker, into reused buffers, and hand batches to their lanes.

The next Fetch is on its way before the batches of the last one are sent, as long as a buffer is
free. A buffer is free again when all its batches are acked, so read-ahead is bounded in bytes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.network import Fetched, FetchEntry, FetchOptions, Frame
from replication.copier.outcomes import (
    OFFSET_OUT_OF_RANGE,
    Remedy,
    Trouble,
    fetch_trouble,
    out_of_range,
)
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from replication.copier.lane import Lane
    from replication.copier.network import Network

_LARGEST_FETCH = 16 << 20
_SMALL_FETCH = 64 << 10  # below this the source is not behind: let records gather a little
_GATHER_S = 0.004
_NOTHING_TO_FETCH_S = 0.05
_BACK_OFF_S = 0.5
_LOCATE_S = 5.0


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
    lanes: Sequence[Lane]
    network: Network
    frames: Frames
    options: FetchOptions
    on_queued: Callable[[Sequence[Lane]], None]  # lanes have something to send
    settle: Callable[[Lane], None]  # a lane has trouble
    _frame: Frame | None = None
    _turn: int = 0
    _by_key: dict[tuple[bytes, int], Lane] = field(default_factory=dict)
    _asked: dict[tuple[bytes, int], int] = field(default_factory=dict)  # offsets of the last Fetch

    async def run(self) -> None:
        """Fetch until cancelled."""
        self._by_key = {(each.topic_id, each.source.partition): each for each in self.lanes}
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
        except (ClusterUnavailable, ClusterRejected) as error:
            self._all_wait(str(error))
            await asyncio.sleep(_BACK_OFF_S)
            return None
        queued = [self._by_key[each.topic_id, each.partition] for each in found if each.records]
        outside = [each for each in map(self._out_of_range, found) if each is not None]
        size = sum(self._take(each, frame) for each in found)
        for lane in outside:
            self._suffer(lane, await self._located(lane))
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
        wanting = [each for each in self.lanes if each.fetches]
        if not wanting:
            return None
        self._turn = (self._turn + 1) % len(wanting)
        entries = [
            FetchEntry(each.topic_id, each.source.partition, each.position, self._epoch(each))
            for each in side_by_side(wanting[self._turn :] + wanting[: self._turn])
        ]
        self._asked = {(each.topic_id, each.partition): each.offset for each in entries}
        return self.network.fetch(self.node, entries, self.options, frame)

    def _epoch(self, lane: Lane) -> int:
        """Return the leader epoch that we know of: a stale leader, or a newer one, then says so."""
        leader = self.network.leader(lane.source)
        return -1 if leader is None else leader.epoch

    def _take(self, found: Fetched, frame: Frame) -> int:
        lane = self._by_key[found.topic_id, found.partition]
        if not lane.fetches or lane.position != self._asked[found.topic_id, found.partition]:
            return 0  # it ran into trouble meanwhile; it will ask again, from its new position
        if found.error:
            if found.error != OFFSET_OUT_OF_RANGE:
                self._suffer(lane, fetch_trouble(found.error))
            return 0
        lane.source_end = found.stable if self.options.isolation else found.high_watermark
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

    def _out_of_range(self, found: Fetched) -> Lane | None:
        lane = self._by_key[found.topic_id, found.partition]
        is_so = lane.fetches and lane.position == self._asked[found.topic_id, found.partition]
        return lane if found.error == OFFSET_OUT_OF_RANGE and is_so else None

    async def _located(self, lane: Lane) -> Trouble:
        """Ask what the source holds: the answer that refuses a position does not say."""
        try:
            async with asyncio.timeout(_LOCATE_S):
                start = await self.network.offset_at(lane.source, -2)
                end = await self.network.offset_at(lane.source, -1)
        except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
            return Trouble(Remedy.RETRY, str(problem) or "the source does not say what it holds")
        return out_of_range(lane.position, start, end)

    def _all_wait(self, reason: str) -> None:
        for lane in self.lanes:
            if lane.fetches:
                self._suffer(lane, Trouble(Remedy.RETRY, reason))

    def _suffer(self, lane: Lane, trouble: Trouble) -> None:
        lane.suffer(trouble)
        self.settle(lane)


def side_by_side(lanes: Sequence[Lane]) -> list[Lane]:
    """Return ``lanes`` with those of a topic together, topics in the order of their first lane.

    The broker fills its answer in this order, so whoever turns the lanes gives each its turn.
    """
    topics: dict[bytes, list[Lane]] = {}
    for lane in lanes:
        topics.setdefault(lane.topic_id, []).append(lane)
    return [lane for listed in topics.values() for lane in listed]


def frames_for(buffer_bytes: int, brokers: int) -> tuple[int, int]:
    """Return how many buffers a unit has and how large a Fetch may be, within ``buffer_bytes``.

    Two a broker at least: one under way while the other is being appended.
    """
    count = max(4, 2 * brokers + 1)
    return count, min(_LARGEST_FETCH, max(1 << 20, buffer_bytes // count))
