"""Fetches over the connections to the brokers, also over one that has yet to be opened."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from replication.adapters.wire import framing
from replication.adapters.wire.connections import CALL_S, settle
from replication.adapters.wire.open_connection import NO_VERSION
from replication.client.error_codes import ErrorCode
from replication.client.network import SessionLost
from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.adapters.wire.channel import Channel
    from replication.adapters.wire.connections import Connections
    from replication.client.fetch_session import FetchOptions, FetchSession
    from replication.client.fetch_values import FetchBuffer, Fetched, FetchEntry
    from replication.client.network import FetchAnswer

_VERSION_MOST = 16  # 13 is the first with topic ids; brokers since 3.1 have it
_SESSION_LOST = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}


class Asked:
    """A Fetch, and the session that it is asked in: its turn is the one of this moment."""

    def __init__(
        self,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
        answer: FetchAnswer,
    ) -> None:
        self.entries, self.options, self.into, self.answer = entries, options, into, answer
        self._turn = options.session.turn if options.session is not None else 0

    @property
    def session(self) -> FetchSession | None:
        """The session, as long as nobody has begun it anew."""
        session = self.options.session
        return session if session is not None and session.turn == self._turn else None

    def send(self, lines: Connections, channel: Channel) -> None:
        """Send it, unless it waited for the connection for so long that its turn is over."""
        if self.options.session is not self.session:
            self.answer(None, SessionLost(f"fetching from {channel.where}: cancelled"))
            return
        version = min(_VERSION_MOST, channel.line.versions.get(framing.FETCH, NO_VERSION).highest)
        body = framing.fetch_request(self.entries, self.options, version)
        pieces = lines.framed(framing.FETCH, version, [body])
        timeout_s = CALL_S + self.options.max_wait_ms / 1000
        take = functools.partial(self._take, channel)
        channel.request(pieces, take, timeout_s, self.into)

    def _take(self, channel: Channel, frame: memoryview | None, problem: Exception | None) -> None:
        if frame is None:
            self.answer(None, problem or ClusterUnavailable("no answer"))
            return
        try:
            error, number, found = framing.fetch_response(frame)
        except framing.MALFORMED as damage:
            self.answer(None, malformed(channel, damage))
            return
        if error:
            self.answer(None, _problem(channel, error, self.session))
            return
        if (session := self.session) is not None:
            session.answered(number)
        self.answer(found, None)


class Fetches:
    """Sends Fetches and reads what comes back. One event loop, no threads."""

    def __init__(self, lines: Connections) -> None:
        self._lines = lines
        self._dialing: dict[asyncio.Task[None], str] = {}  # the name of the line that each needs

    async def fetch(
        self, node: int, entries: Sequence[FetchEntry], options: FetchOptions, into: FetchBuffer
    ) -> list[Fetched]:
        """Fetch once, and wait for the answer."""
        channel = await self._lines.channel(node, options.line)
        answered: asyncio.Future[list[Fetched]] = asyncio.get_running_loop().create_future()
        asked = Asked(entries, options, into, functools.partial(settle, answered))
        asked.send(self._lines, channel)
        return await answered

    def begin(self, node: int, asked: Asked) -> None:
        """Send a Fetch, as soon as its connection is open."""
        channel = self._lines.lasting(node, asked.options.line)
        if channel is not None:
            asked.send(self._lines, channel)
            return
        dialing = asyncio.create_task(self._dial_and_send(node, asked))
        self._dialing[dialing] = asked.options.line
        dialing.add_done_callback(self._dialing.pop)

    def drop(self, line: str | None = None) -> None:
        """Give up the Fetches that wait for a connection called ``line``, or for any."""
        for task, its in self._dialing.items():
            if line in {its, None}:
                task.cancel()

    async def _dial_and_send(self, node: int, asked: Asked) -> None:
        try:
            channel = await self._lines.channel(node, asked.options.line)
            asked.send(self._lines, channel)
        except asyncio.CancelledError:
            asked.answer(None, ClusterUnavailable(f"fetching from broker {node}: cancelled"))
            raise
        except Exception as problem:  # noqa: BLE001 -- who asked is to hear of it
            asked.answer(None, problem)


def _problem(channel: Channel, error: int, session: FetchSession | None) -> ClusterUnavailable:
    message = f"fetching from {channel.where}: error {error}"
    if session is not None and error in _SESSION_LOST:
        session.refused()
        return SessionLost(message)
    return ClusterUnavailable(message)


def malformed(channel: Channel, problem: Exception) -> ClusterUnavailable:
    """Return what to say of an answer that cannot be read."""
    return ClusterUnavailable(f"decoding a response of {channel.where}: {problem}")
