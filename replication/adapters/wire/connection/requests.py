"""Numbers and frames requests, and decodes their responses."""

from __future__ import annotations

import asyncio
import functools
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from replication.adapters.wire import api_messages, fetch_produce_codec
from replication.adapters.wire.connection.open_connection import NO_VERSION
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.adapters.wire.connection.channel import Channel, OnResponse
    from replication.adapters.wire.connection.responses import Buffer

_Response = TypeVar("_Response")
CALL_S = 30.0
_LAST_CORRELATION = (1 << 31) - 1


class Framed(NamedTuple):
    """A request in parts; its response is received into ``into``, if that is given."""

    key: int
    version: int
    body: Sequence[bytes | memoryview]
    into: Buffer | None = None


class Requests:
    """The requests of one client, over any channel, and for how long brokers have throttled it."""

    def __init__(self, client_id: str) -> None:
        self.throttled_ms = 0  # for which the brokers have throttled us, over all connections
        self._client_id = client_id
        self._correlation = 0

    async def call(self, channel: Channel, request: Any, highest: int) -> Any:
        """Send a kafka-python request, in the highest version that both sides support.

        While the broker throttles us the request waits.
        Raises ClusterUnavailable for a response that is damaged, ClusterRejected where the broker
        has no version from the request's ``min_version`` to ``highest``.
        """
        low, high = channel.connection.versions.get(request.API_KEY, NO_VERSION)
        version = min(highest, high)
        if version < max(low, request._min_version or 0):
            raise ClusterRejected(
                f"{channel.where} supports no version of {request.name} that Isthmus supports"
            )
        correlation = self._next_correlation()
        raw = api_messages.encode(request, version, correlation, self._client_id)
        frame: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        await self.rest(channel)
        on_response = _matched(channel, correlation, functools.partial(settle, frame))
        channel.request([raw], on_response, CALL_S)
        try:
            answer = api_messages.decode(request, await frame)
        except ValueError as damage:
            raise malformed(channel, damage) from damage
        self.throttle(channel, getattr(answer, "throttle_time_ms", None) or 0)
        return answer

    def send(
        self, channel: Channel, request: Framed, on_response: OnResponse, timeout_s: float
    ) -> None:
        """Send a framed request; ``on_response`` is called as ``Channel.request`` says."""
        correlation = self._next_correlation()
        head = fetch_produce_codec.request_head(
            request.key, request.version, correlation, self._client_id
        )
        size = len(head) + sum(map(len, request.body))
        buffers = [size.to_bytes(4, "big") + head, *request.body]
        matched = _matched(channel, correlation, on_response)
        channel.request(buffers, matched, timeout_s, request.into)

    def throttle(self, channel: Channel, for_ms: int) -> None:
        """Obey the throttle time of a response."""
        if for_ms > 0:
            self.throttled_ms += for_ms
            channel.throttle(for_ms, time.monotonic())

    async def rest(self, channel: Channel) -> None:
        """Wait until the broker reads requests of this connection again."""
        if (pause_s := channel.pause_s(time.monotonic())) > 0:
            await asyncio.sleep(pause_s)

    def _next_correlation(self) -> int:
        """Return the next correlation id; it is a signed number of four bytes, and wraps."""
        self._correlation = (self._correlation + 1) & _LAST_CORRELATION
        return self._correlation


def settle(
    future: asyncio.Future[_Response], answer: _Response | None, error: Exception | None
) -> None:
    """Complete a future with a response or an error."""
    if future.done():
        return
    if answer is None:
        future.set_exception(error or ClusterUnavailable("no answer"))
    else:
        future.set_result(answer)


def malformed(channel: Channel, problem: Exception) -> ClusterUnavailable:
    """Return the error for a response that cannot be decoded."""
    return ClusterUnavailable(f"decoding a response of {channel.where}: {problem}")


def _matched(channel: Channel, correlation: int, on_response: OnResponse) -> OnResponse:
    """Return ``on_response`` for responses to this request alone; another's ends the connection.

    All later ones would be taken for responses to the wrong requests, too.
    """
    expected = correlation.to_bytes(4, "big")

    def take(frame: memoryview | None, error: Exception | None) -> None:
        if frame is not None and frame[:4] != expected:
            error = ClusterUnavailable(
                f"connection to {channel.where}: a response to another request"
            )
            channel.close(error)
            frame = None
        on_response(frame, error)

    return take
