"""One connection to a broker on the event loop: sends requests and matches responses in order.

Kafka answers the requests of a connection in the order they were sent, so the oldest open request
gets the next response. Large responses are received straight into the request's own buffer.

A broker that throttles says for how long it reads no further request of a connection (KIP-219).
Who uses it waits so long, see ``pause_s``; what was sent before gets that much more time.

A SASL session ends at a time that the broker has named (KIP-368): the first request after it closes
the connection. So a channel changes to another connection before, between two requests.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from replication.adapters.wire.connection.responses import NewBuffer, Responses
from replication.adapters.wire.connection.session import SaslSession
from replication.client.moment import Moment
from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from replication.adapters.wire.connection.open_connection import OpenConnection
    from replication.adapters.wire.connection.responses import Buffer

_MAX_BUFFERS = 512  # of one sendmsg; the kernel takes 1,024
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_READ_TURN = 8 << 20  # bytes before other sockets are read
_LONGEST_THROTTLE_MS = 300_000  # that is obeyed; 16 MiB at a quota of 100 kB/s take 168 s
_STUCK_S = 15.0  # without any byte taken by the kernel, as TCP_USER_TIMEOUT within it


OnResponse = Callable[[memoryview | None, Exception | None], None]


class _OpenRequest:
    """A request without a response yet."""

    __slots__ = ("buffer", "deadline", "on_response", "sent_at", "timeout_s")

    def __init__(self, on_response: OnResponse, buffer: Buffer, timeout_s: float) -> None:
        self.on_response, self.buffer, self.timeout_s = on_response, buffer, timeout_s
        self.sent_at = time.monotonic()
        self.deadline = self.sent_at + timeout_s


class _Successor:
    """The next connection of a channel, and the requests that wait for it."""

    def __init__(self, connection: OpenConnection, where: str) -> None:
        self.connection, self.where = connection, where
        self.open: deque[_OpenRequest] = deque()
        self.out: deque[bytes | memoryview] = deque()


class Channel:
    """Requests and responses of one connection; each callback runs once, with bytes or an error.

    Not for threads: all calls come from the event loop's thread.
    """

    def __init__(self, connection: OpenConnection, where: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._use(connection, where)
        self._successor: _Successor | None = None
        self._open: deque[_OpenRequest] = deque()
        self._out: deque[bytes | memoryview] = deque()
        self._writing = False
        self._sent_at = Moment.now()  # the last byte of ``_out`` while there is more
        self._responses = Responses(self._next_buffer)
        self._throttled_until = 0.0  # monotonic
        self.error: Exception | None = None

    def _use(self, connection: OpenConnection, where: str) -> None:
        self.connection, self.where = connection, where
        self._sock = connection.sock
        self._secure = isinstance(connection.sock, ssl.SSLSocket)
        self._loop.add_reader(self._sock.fileno(), self._on_readable)
        self._received_at = time.monotonic()  # when something came last
        self.session = SaslSession(connection.expires_at)

    @property
    def open_requests(self) -> int:
        """How many requests have no response yet, those that wait for the next connection too."""
        return len(self._open) + (len(self._successor.open) if self._successor else 0)

    def request(
        self,
        buffers: Sequence[bytes | memoryview],
        on_response: OnResponse,
        timeout_s: float,
        buffer: Buffer | None = None,
    ) -> None:
        """Send one framed request; ``buffers`` must not change before the response.

        ``on_response(frame, None)`` gets the response without its size; if the request fails,
        ``on_response(None, error)`` is called.
        """
        if self.error is not None:
            self._loop.call_soon(on_response, None, self.error)
            return
        request = _OpenRequest(on_response, buffer or NewBuffer(), timeout_s)
        if self._successor is not None:
            self._successor.open.append(request)
            self._successor.out.extend(buffers)
            return
        self._open.append(request)
        self._out.extend(buffers)
        if not self._writing:
            self._flush()

    def throttle(self, for_ms: int, now: float) -> None:
        """Note that the broker reads no request for ``for_ms`` from ``now`` on, in seconds."""
        pause_s = max(0, min(for_ms, _LONGEST_THROTTLE_MS)) / 1000
        self._throttled_until = max(self._throttled_until, now + pause_s)
        for each in self._open:
            each.deadline += pause_s

    def pause_s(self, now: float) -> float:
        """Return for how many seconds no request may be sent; not more than 0: it may be."""
        return self._throttled_until - now

    def detach(self) -> OpenConnection:
        """Stop using the connection, which must have no open request, and return it."""
        self._loop.remove_reader(self._sock.fileno())
        return self.connection

    def succeed(self, connection: OpenConnection, where: str) -> None:
        """Send later requests over ``connection``, after the responses to those already sent.

        So the broker handles all of them in the order in which they were sent.
        """
        if self._successor is not None:
            connection.sock.close()
            return
        self._successor = _Successor(connection, where)
        self._change_if_drained()

    def _change_if_drained(self) -> None:
        if self._successor is None or self._open:
            return
        after, self._successor = self._successor, None
        self._release()
        self._responses.begin()
        self._open, self._out = after.open, after.out
        self._use(after.connection, after.where)
        self._flush()

    def _release(self) -> None:
        self._loop.remove_reader(self._sock.fileno())
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._sock.fileno())
        self._sock.close()

    def is_ending(self, now: float) -> bool:
        """Say whether the session will end soon, and no connection is ready to succeed."""
        return self._successor is None and self.session.is_ending(now)

    def has_ended(self, now: float) -> bool:
        """Say whether the session has ended: a request sent now would close the connection."""
        return self._successor is None and self.session.has_ended(now)

    def overdue(self, now: float) -> bool:
        """Say whether the oldest request has exceeded its timeout."""
        return bool(self._open) and self._open[0].deadline < now

    @property
    def oldest_sent_at(self) -> float | None:
        """When its oldest open request was sent; None: there is none. In monotonic seconds."""
        return self._open[0].sent_at if self._open else None

    def is_silent_since(self, moment: float) -> bool:
        """Say whether nothing has come since, in monotonic seconds."""
        return self.error is None and self._received_at < moment

    def hurry(self, now: float) -> None:
        """Wait for its open requests only a sixth of their time limits from now on."""
        if self.pause_s(now) <= 0:
            for each in self._open:
                each.deadline = min(each.deadline, now + each.timeout_s / 6)

    def close(self, error: Exception | None = None) -> None:
        """Close the connection and fail its open requests."""
        if self.error is not None:
            return
        self.error = error or ClusterUnavailable(f"connection to {self.where}: closed")
        self._release()
        self._out.clear()
        after, self._successor = self._successor, None
        if after is not None:
            after.connection.sock.close()
            self._open.extend(after.open)
        while self._open:
            self._open.popleft().on_response(None, self.error)

    def _flush(self) -> None:
        """Send what the kernel takes.

        The rest of a request is not sent after the process was frozen: whoever sent it would have
        to ask first whether it still may.
        """
        if self._writing and self._sent_at.elapsed_s() > _STUCK_S:
            self._lost(OSError(f"a request was not sent within {_STUCK_S:.0f} s"))
            return
        try:
            while self._out:
                self._sent(self._send_some())
        except _WOULD_BLOCK:
            self._sent_at = Moment.now()
            if not self._writing:
                self._writing = True
                self._loop.add_writer(self._sock.fileno(), self._flush)
            return
        except OSError as error:
            self._lost(error)
            return
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._sock.fileno())

    def _send_some(self) -> int:
        if self._secure:  # an SSLSocket has no sendmsg
            return self._sock.send(self._out[0])
        if len(self._out) <= _MAX_BUFFERS:
            return self._sock.sendmsg(self._out)
        return self._sock.sendmsg([self._out[i] for i in range(_MAX_BUFFERS)])

    def _sent(self, count: int) -> None:
        while count:
            first = self._out[0]
            if count < len(first):
                self._out[0] = first[count:]
                return
            count -= len(first)
            self._out.popleft()

    def _on_readable(self) -> None:
        taken = 0
        try:
            while taken < _READ_TURN or self._holds_bytes():
                room = self._responses.room
                count = self._sock.recv_into(room)
                if count == 0:
                    self._lost(None)
                    return
                taken += count
                self._take(count)
                if self._successor is not None and not self._open:
                    self._change_if_drained()
                    return
                if self.error is not None or self._is_drained(len(room) - count):
                    return
        except _WOULD_BLOCK:
            return
        except OSError as error:
            self._lost(error)

    def _is_drained(self, left: int) -> bool:
        """Say whether epoll will report the remaining bytes; ``left``: unused buffer space."""
        if self._secure:  # it returns one TLS record at a time
            return not self._responses.within_one and not self._holds_bytes()
        return left > 0

    def _holds_bytes(self) -> bool:
        """Whether TLS has decrypted more than was read: epoll cannot see that."""
        return isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0

    def _take(self, count: int) -> None:
        """Hand the responses in ``count`` bytes that were read to their requests."""
        self._received_at = time.monotonic()
        for body in self._responses.take(count):
            self._open.popleft().on_response(body, None)
            if self.error is not None:
                return

    def _next_buffer(self) -> Buffer | None:
        return self._open[0].buffer if self._open else None

    def _lost(self, cause: OSError | None) -> None:
        reason = cause or "the broker closed the connection"
        self.close(ClusterUnavailable(f"connection to {self.where}: {reason}"))
