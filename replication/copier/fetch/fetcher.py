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

from replication.client.network import SessionLost
from replication.copier.fetch.fetch_response import FetchResponse, locate
from replication.copier.fetch.throttle import FetchRateLimit
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.fetch_session import FetchOptions
    from replication.client.fetch_values import FetchBuffer, Fetched
    from replication.copier.fetch.fetch_request import FetchRequest
    from replication.copier.fetch.fetch_response import FetcherContext
    from replication.copier.partition.intake import FetchedPartition
    from replication.copier.partition.partition_copy import PartitionCopy

_SMALL_FETCH = 64 << 10  # below this the source is not behind
_PAUSE_S = 0.001  # in which records gather; the event loop's clock is no finer
_NOTHING_TO_FETCH_S = 0.05
_BACK_OFF_S = 0.5


class _Stop(NamedTuple):
    """Why the fetching stopped. All empty: no answer is due."""

    answer: tuple[FetchBuffer, Sequence[Fetched]] | None = (
        None  # to be made ready; it lies in the frame
    )
    outside: Sequence[PartitionCopy] = ()  # their positions are not in the source's log
    problem: Exception | None = None


@dataclass(slots=True)
class Fetcher:
    """Reading from one source broker: of priority topics (``first``) or of the others.

    An ordinary answer is taken in, sent on and followed by the next Fetch in the turn of the event
    loop that it came in. What has to wait for something stops that; then ``run`` goes on.
    """

    node: int
    first: bool
    fetch_request: FetchRequest
    shared: FetcherContext
    options: FetchOptions
    _buffer: FetchBuffer | None = None
    _began_at: float = 0.0
    _stopped: asyncio.Future[_Stop] = field(init=False)
    _pause: asyncio.TimerHandle | None = None
    _rate_limit: FetchRateLimit = field(default_factory=FetchRateLimit)
    _response: FetchResponse = field(init=False)

    def __post_init__(self) -> None:
        self._response = FetchResponse(self.node, self.shared)

    async def run(self) -> None:
        """Fetch until cancelled. What the broker made of a former run's last Fetch is not known."""
        self.fetch_request.session.restart()
        try:
            while True:
                self._stopped = asyncio.get_running_loop().create_future()
                if self._buffer is None:
                    self._buffer = await self.shared.buffers.take()
                if self._begin(self._buffer):
                    await self._handle_stop()
                else:
                    await asyncio.sleep(_NOTHING_TO_FETCH_S)
        finally:
            if self._pause is not None:
                self._pause.cancel()
            if self._buffer is not None:  # an answer may still be on its way into it
                self.shared.buffers.replace(self._buffer)

    async def _handle_stop(self) -> None:
        """Do what takes a while, until no answer is due."""
        while (stop := await self._stopped).answer is not None:
            buffer, found = stop.answer
            awaited = await self._prepared(found)
            self._stopped = asyncio.get_running_loop().create_future()
            self._take_all(found, awaited, buffer)
        where = await locate(self.shared.network, stop.outside)
        for partition, error in zip(stop.outside, where, strict=True):
            self._response.record_error(partition, error)
        if isinstance(stop.problem, SessionLost):
            return  # the next Fetch opens a new one
        if isinstance(stop.problem, ClusterUnavailable | ClusterRejected):
            self.fetch_request.session.restart()
            self._response.back_off_all(list(self.fetch_request.partitions), str(stop.problem))
            await asyncio.sleep(_BACK_OFF_S)
        elif stop.problem is not None:
            raise stop.problem

    def _begin(self, buffer: FetchBuffer) -> bool:
        """Send the next Fetch, unless no lane wants data now, or none may have it yet."""
        now, throttle = time.monotonic(), self.shared.throttle
        if throttle.pause_s(now, self._began_at, first=self.first) > 0:
            return False
        entries = self.fetch_request.next_entries()
        if entries is None:
            return False
        self._began_at = now
        options = throttle.shared(self.options, first=self.first)
        if (rack := self.shared.replicas.rack_at(now)) != options.rack:
            options = replace(options, rack=rack)
        answer = partial(self._answered, self._stopped, buffer)
        self.shared.network.begin_fetch(self.node, entries, options, buffer, answer)
        return True

    def _answered(
        self,
        stopped: asyncio.Future[_Stop],
        buffer: FetchBuffer,
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
            awaited = self._awaited(found)
            if self.shared.producers.ready(awaited):
                self._take_all(found, awaited, buffer)
            else:
                stopped.set_result(_Stop((buffer, found)))
        except Exception as error:  # noqa: BLE001 -- ``run`` raises it
            _fail(stopped, error)

    async def _prepared(self, found: Sequence[Fetched]) -> list[FetchedPartition]:
        """Find out what has to be known; return what was asked for and is still wanted.

        A lane that only now wants its part was not asked for: its part comes again (P1).
        """
        awaited = self._awaited(found)
        await self.shared.producers.prepare(awaited)
        asked = {partition for partition, _ in awaited}
        return [(partition, each) for partition, each in self._awaited(found) if partition in asked]

    def _take_all(
        self, found: Sequence[Fetched], awaited: Sequence[FetchedPartition], buffer: FetchBuffer
    ) -> None:
        """Take in what was fetched, send it on, and begin the next Fetch.

        What is large is sent after that, so that the source's broker works meanwhile.
        """
        now = time.monotonic()
        self.shared.throttle.spend(sum(len(each.records) for each in found), now)
        size, queued, outside = 0, [], []
        for partition, each in awaited:
            taken, is_outside = self._response.take(partition, each, buffer)
            size += taken
            if each.records:
                queued.append(partition)
                self.fetch_request.move_last(partition)
            if is_outside and partition in self.fetch_request.partitions:
                outside.append(partition)
        self._buffer = None
        try:
            if size >= _SMALL_FETCH and not outside:
                under_way = self._begin_next()
                self.shared.sender.offer_all(queued)
            else:
                self.shared.sender.offer_all(queued)
                under_way = not outside and (self._pauses(size, now) or self._begin_next())
        finally:
            buffer.release()
        if not under_way:
            self._stopped.set_result(_Stop(outside=outside))

    def _pauses(self, size: int, now: float) -> bool:
        """Say whether the next Fetch is to begin a little later, and see to it."""
        if not size or not self._rate_limit.must_pause(now):
            return False
        loop = asyncio.get_running_loop()
        self._pause = loop.call_later(_PAUSE_S, self._on_pause_over, self._stopped)
        return True

    def _on_pause_over(self, stopped: asyncio.Future[_Stop]) -> None:
        if stopped.done():
            return
        try:
            if not self._begin_next():
                stopped.set_result(_Stop())
        except Exception as error:  # noqa: BLE001 -- ``run`` raises it
            _fail(stopped, error)

    def _begin_next(self) -> bool:
        """Begin the next Fetch, into another buffer; False: ``run`` has to wait before."""
        self._buffer = self.shared.buffers.try_take()
        return self._buffer is not None and self._begin(self._buffer)

    def _awaited(self, found: Sequence[Fetched]) -> list[FetchedPartition]:
        return [
            (partition, each)
            for each in found
            if (partition := self.fetch_request.partition_of(each)) is not None
        ]


def _fail(stopped: asyncio.Future[_Stop], error: Exception) -> None:
    """Have ``run`` raise ``error``; the event loop would only log it."""
    if stopped.done():  # it has other awaited for ``run`` already
        raise error
    stopped.set_exception(error)
