"""The fetch loop of one source broker: the next Fetch waits for a buffer that the target freed.

It hands fetched batches to their partitions. The next Fetch is sent before the batches of the last
one are produced, if a buffer is free. A buffer is free again when all its batches are acknowledged,
so read-ahead is bounded in bytes.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from replication.client.network import SessionLost
from replication.copier.fetch.fetch_response import FetchResponse
from replication.copier.fetch.throttle import FetchRateLimit
from replication.copier.fetch.unclear_errors import Unclear, locate
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.fetch_session import FetchOptions
    from replication.client.fetch_values import FetchBuffer, Fetched
    from replication.copier.fetch.fetch_request import FetchRequest
    from replication.copier.fetch.fetch_response import FetcherContext
    from replication.copier.partition.intake import FetchedPartition

_SMALL_FETCH = 64 << 10  # bytes; a smaller response means that we caught up
_PAUSE_S = 0.001  # at least; lets records accumulate; the event loop's clock is no finer
_NOTHING_TO_FETCH_S = 0.05
_BACK_OFF_S = 0.5
_LOOK_EVERY_S = 5.0  # for partitions that have fallen silent


_CLEAR = Unclear()


class _Stop(NamedTuple):
    """Why the loop stopped. All empty: no response is outstanding."""

    response: tuple[FetchBuffer, Sequence[Fetched]] | None = None  # producer ids are looked up
    unclear: Unclear = _CLEAR
    problem: Exception | None = None


@dataclass(slots=True)
class Fetcher:
    """Fetches from one source broker: priority topics (``first``) or the others.

    A callback handles an ordinary response, sends its batches and begins the next Fetch. When it
    has to wait for something it sets ``_stopped``, and ``run`` continues.
    """

    node: int
    first: bool
    fetch_request: FetchRequest
    shared: FetcherContext
    options: FetchOptions
    _buffer: FetchBuffer | None = None
    _began_at: float = 0.0
    _looked_at: float = 0.0
    _stopped: asyncio.Future[_Stop] = field(init=False)
    _pause: asyncio.TimerHandle | None = None
    _rate_limit: FetchRateLimit = field(default_factory=FetchRateLimit)
    _response: FetchResponse = field(init=False)

    def __post_init__(self) -> None:
        self._response = FetchResponse(self.node, self.shared)

    async def run(self) -> None:
        """Fetch until cancelled, in a new session: the state of a former one is unknown."""
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
            if self._buffer is not None:  # a response may still be written into it
                self.shared.buffers.replace(self._buffer)

    async def _handle_stop(self) -> None:
        """Await what a response needs, until no response is outstanding."""
        while (stop := await self._stopped).response is not None:
            buffer, found = stop.response
            fetched = await self._prepared(found)
            self._stopped = asyncio.get_running_loop().create_future()
            self._take_all(found, fetched, buffer)
        shared = self.shared
        for each in await locate(shared.network, stop.unclear, committed=shared.committed):
            self._response.record_error(*each)
        if isinstance(stop.problem, SessionLost):
            return  # the next Fetch opens a new one
        if isinstance(stop.problem, ClusterUnavailable | ClusterRejected):
            self.fetch_request.session.restart()
            silent_s = time.monotonic() - self._began_at
            those = list(self.fetch_request.partitions)
            self._response.back_off_all(those, str(stop.problem), silent_s)
            await asyncio.sleep(_BACK_OFF_S)
        elif stop.problem is not None:
            raise stop.problem

    def _begin(self, buffer: FetchBuffer) -> bool:
        """Send the next Fetch, unless no partition fetches now, or a throttle forbids it."""
        now, throttle = time.monotonic(), self.shared.throttle
        if throttle.pause_s(now, self._began_at, first=self.first) > 0:
            return False
        if self.shared.network.pause_s(self.node, self.options.line) > 0:
            return False
        entries = self.fetch_request.next_entries()
        if entries is None:
            return False
        self._began_at = now
        options = throttle.shared(self.options, first=self.first)
        if (rack := self.shared.replicas.rack_at(now)) != options.rack:
            options = replace(options, rack=rack)
        on_response = partial(self._on_response, self._stopped, buffer)
        self.shared.network.begin_fetch(self.node, entries, options, buffer, on_response)
        return True

    def _on_response(
        self,
        stopped: asyncio.Future[_Stop],
        buffer: FetchBuffer,
        found: Sequence[Fetched] | None,
        problem: Exception | None,
    ) -> None:
        """Handle a response at once, unless a producer id has to be looked up before."""
        if stopped.done():
            return  # the loop was cancelled
        if found is None:
            stopped.set_result(_Stop(problem=problem))
            return
        try:
            fetched = self._by_partition(found)
            if self.shared.producers.ready(fetched):
                self._take_all(found, fetched, buffer)
            else:
                stopped.set_result(_Stop((buffer, found)))
        except Exception as error:  # noqa: BLE001 -- ``run`` raises it
            _fail(stopped, error)

    async def _prepared(self, found: Sequence[Fetched]) -> list[FetchedPartition]:
        """Look up producer ids; return the partitions that were prepared and still fetch.

        A partition that fetches again only now was not prepared: its data is fetched again (P1).
        """
        fetched = self._by_partition(found)
        await self.shared.producers.prepare(fetched)
        prepared = {partition for partition, _ in fetched}
        return [
            (partition, each)
            for partition, each in self._by_partition(found)
            if partition in prepared
        ]

    def _take_all(
        self, found: Sequence[Fetched], fetched: Sequence[FetchedPartition], buffer: FetchBuffer
    ) -> None:
        """Queue the fetched batches, send them, and begin the next Fetch.

        Large responses are sent after that, so that the source's broker works meanwhile.
        """
        now = time.monotonic()
        self.shared.throttle.spend(sum(len(each.records) for each in found), now)
        size, is_useless, queued, unclear = 0, True, [], Unclear()
        for partition, each in fetched:
            position = partition.position
            taken = self._response.take(partition, each, buffer)
            size += taken.size
            is_useless = is_useless and partition.position == position
            if partition not in self.fetch_request.partitions:
                continue  # it moved to another broker
            if each.records:
                queued.append(partition)
                self.fetch_request.move_last(partition)
            if taken.is_outside:
                unclear.outside.append(partition)
            if taken.is_damaged:
                unclear.damaged.append(partition)
        if now - self._looked_at >= _LOOK_EVERY_S:
            self._looked_at, suspects = now, self.shared.suspects
            unclear.damaged.extend(suspects.silent(self.fetch_request.partitions, now))
        self._buffer = None
        try:
            if size >= _SMALL_FETCH and not unclear:
                has_begun = self._begin_next()
                self.shared.sender.offer_all(queued)
            else:
                self.shared.sender.offer_all(queued)
                pauses = self._pauses(now, is_useless=is_useless)
                has_begun = not unclear and (pauses or self._begin_next())
        finally:
            buffer.release()
        if not has_begun:
            self._stopped.set_result(_Stop(unclear=unclear))

    def _pauses(self, now: float, *, is_useless: bool) -> bool:
        """Schedule the next Fetch after a pause if there were many small responses."""
        pause_s = self._rate_limit.pause_s(now, useless=is_useless)
        if not pause_s:
            return False
        loop, pause_s = asyncio.get_running_loop(), max(pause_s, _PAUSE_S)
        self._pause = loop.call_later(pause_s, self._on_pause_over, self._stopped)
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
        """Begin the next Fetch into another buffer; False: ``run`` has to wait first."""
        self._buffer = self.shared.buffers.try_take()
        return self._buffer is not None and self._begin(self._buffer)

    def _by_partition(self, found: Sequence[Fetched]) -> list[FetchedPartition]:
        return [
            (partition, each)
            for each in found
            if (partition := self.fetch_request.partition_of(each)) is not None
        ]


def _fail(stopped: asyncio.Future[_Stop], error: Exception) -> None:
    """Make ``run`` raise ``error``; the event loop would only log it."""
    if stopped.done():  # another outcome is set for ``run`` already
        raise error
    stopped.set_exception(error)
