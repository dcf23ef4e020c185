"""Sends Fetch requests to brokers, opening a connection first where there is none."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from replication.adapters.wire import fetch_produce_codec
from replication.adapters.wire.connection.open_connection import NO_VERSION
from replication.adapters.wire.connection.requests import CALL_S, Framed, malformed, settle
from replication.client.error_codes import ErrorCode, named_error
from replication.client.network import SessionLost
from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.adapters.wire.connection.channel import Channel
    from replication.adapters.wire.connection.connections import BrokerConnections
    from replication.client.fetch_session import FetchOptions, FetchSession
    from replication.client.fetch_values import FetchBuffer, Fetched, FetchEntry
    from replication.client.network import FetchAnswer

_MAX_VERSION = 16  # 13 is the first with topic ids; brokers since 3.1 have it
_SESSION_LOST = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}


class PendingFetch:
    """A Fetch and its session, with the session's turn at this moment."""

    def __init__(
        self,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
        on_response: FetchAnswer,
    ) -> None:
        self.entries, self.options, self.into, self.on_response = (
            entries,
            options,
            into,
            on_response,
        )
        self._turn = options.session.turn if options.session is not None else 0

    @property
    def session(self) -> FetchSession | None:
        """The session, unless it was restarted meanwhile."""
        session = self.options.session
        return session if session is not None and session.turn == self._turn else None

    def send(self, lines: BrokerConnections, channel: Channel) -> None:
        """Send it, unless the session was restarted while it waited for the connection."""
        if self.options.session is not self.session:
            self.on_response(None, SessionLost(f"fetching from {channel.where}: cancelled"))
            return
        version = min(
            _MAX_VERSION,
            channel.connection.versions.get(fetch_produce_codec.FETCH, NO_VERSION).highest,
        )
        body = fetch_produce_codec.fetch_request(self.entries, self.options, version)
        request = Framed(fetch_produce_codec.FETCH, version, [body], self.into)
        timeout_s = CALL_S + self.options.max_wait_ms / 1000
        lines.requests.send(
            channel, request, functools.partial(self._take, lines, channel), timeout_s
        )

    def _take(
        self,
        lines: BrokerConnections,
        channel: Channel,
        frame: memoryview | None,
        problem: Exception | None,
    ) -> None:
        if frame is None:
            self.on_response(
                None, problem or ClusterUnavailable(f"fetching from {channel.where}: no answer")
            )
            return
        try:
            lines.requests.throttle(channel, fetch_produce_codec.fetch_throttle_ms(frame))
            error, number, found = fetch_produce_codec.fetch_response(frame)
        except fetch_produce_codec.MALFORMED as damage:
            self.on_response(None, malformed(channel, damage))
            return
        if error:
            self.on_response(None, _problem(channel, error, self.session))
            return
        if (session := self.session) is not None:
            session.answered(number)
        self.on_response(found, None)


class Fetches:
    """Sends Fetches and decodes the responses. One event loop, no threads."""

    def __init__(self, lines: BrokerConnections) -> None:
        self._lines = lines
        self._dialing: dict[asyncio.Task[None], str] = {}  # and the connection that it waits for

    async def fetch(
        self, node: int, entries: Sequence[FetchEntry], options: FetchOptions, into: FetchBuffer
    ) -> list[Fetched]:
        """Fetch once, and wait for the response."""
        channel = await self._lines.channel(node, options.line)
        await self._lines.requests.rest(channel)
        answered: asyncio.Future[list[Fetched]] = asyncio.get_running_loop().create_future()
        pending = PendingFetch(entries, options, into, functools.partial(settle, answered))
        pending.send(self._lines, channel)
        return await answered

    def begin(self, node: int, pending: PendingFetch) -> None:
        """Send a Fetch, as soon as its connection is open."""
        channel = self._lines.ready(node, pending.options.line)
        if channel is not None:
            pending.send(self._lines, channel)
            return
        dialing = asyncio.create_task(self._dial_and_send(node, pending))
        self._dialing[dialing] = pending.options.line
        dialing.add_done_callback(self._dialing.pop)

    def drop(self, line: str | None = None) -> None:
        """Cancel the Fetches that wait for a connection called ``line``, or for any."""
        for task, its in self._dialing.items():
            if line in {its, None}:
                task.cancel()

    async def _dial_and_send(self, node: int, pending: PendingFetch) -> None:
        try:
            channel = await self._lines.channel(node, pending.options.line)
            pending.send(self._lines, channel)
        except asyncio.CancelledError:
            pending.on_response(None, ClusterUnavailable(f"fetching from broker {node}: cancelled"))
            raise
        except Exception as problem:  # noqa: BLE001 -- it goes to the caller
            pending.on_response(None, problem)


def _problem(channel: Channel, error: int, session: FetchSession | None) -> ClusterUnavailable:
    message = f"fetching from {channel.where}: {named_error(error)}"
    if session is not None and error in _SESSION_LOST:
        session.refused()
        return SessionLost(message)
    return ClusterUnavailable(message)
