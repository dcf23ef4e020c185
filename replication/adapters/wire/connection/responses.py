"""Splits the bytes of a connection into responses.

Small responses come whole, or several at a time. Large ones are received straight into the
request's own buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SIZE = 4  # bytes of the size before a response
_FIRST_READ = 64 << 10  # bytes; small responses come whole, or several at a time
_LARGEST = 1 << 30  # bytes of a Fetch response; what announces more is no broker, or is broken
_LARGEST_OTHER = 100_000_000  # bytes of other responses: the limit of librdkafka and kafka-python
_TRUSTED = 16 << 20  # bytes that are reserved as announced; more only as bytes arrive


class Buffer(Protocol):
    """Memory for a response, reused for the next one."""

    def view(self, size: int) -> memoryview:
        """Return the first ``size`` writable bytes; nothing of an earlier view has to be kept."""


class NewBuffer:
    """Memory of its own for each response."""

    def view(self, size: int) -> memoryview:
        return memoryview(bytearray(size))


class Responses:
    """The responses in the bytes of one connection after the other.

    ``buffer`` returns the buffer of the request that gets the next response; None: there is none.
    """

    def __init__(self, buffer: Callable[[], Buffer | None]) -> None:
        self._buffer = buffer
        self._first = memoryview(bytearray(_FIRST_READ))
        self._partial = 0  # bytes in it: an incomplete size
        self._body: memoryview | None = None  # of an incomplete response, or of its first part
        self._size = 0  # bytes of the whole response
        self._received = 0  # bytes of it

    @property
    def room(self) -> memoryview:
        """Where to read the next bytes to."""
        return self._first[self._partial :] if self._body is None else self._body[self._received :]

    @property
    def within_one(self) -> bool:
        """Whether a response has begun that is not complete."""
        return self._body is not None

    def begin(self) -> None:
        """Begin with the bytes of another connection; no response may have begun."""
        self._partial = 0

    def take(self, count: int) -> Iterator[memoryview]:
        """Process ``count`` bytes that were read into ``room``; yield each complete response.

        Each has to be handed to its request before the next one is asked for. Raises OSError for
        what no broker sends.
        """
        if self._body is None:
            yield from self._split(self._partial + count)
            return
        self._received += count
        if self._received < len(self._body):
            return
        body, self._body = self._body, None
        if self._received < self._size:
            self._body = self._grown(body)
            return
        yield body

    def _grown(self, first: memoryview) -> memoryview:
        """Return room for twice as much as has arrived, and ``first`` in it.

        Who announces a large response has to send it before it takes our memory.
        """
        room = self._next_buffer().view(min(self._size, 2 * len(first)))
        room[: len(first)] = first
        return room

    def _split(self, end: int) -> Iterator[memoryview]:
        """Split the first ``end`` bytes: complete responses, then the beginning of one."""
        at = self._partial = 0
        while end - at >= _SIZE:
            buffer = self._next_buffer()
            size = int.from_bytes(self._first[at : at + _SIZE], "big")
            at += _SIZE
            if size > (_LARGEST_OTHER if isinstance(buffer, NewBuffer) else _LARGEST):
                raise OSError(f"a response of {size:,} bytes was announced")
            body, there = buffer.view(min(size, _TRUSTED)), min(size, end - at)
            body[:there] = self._first[at : at + there]
            at += there
            if there < size:
                self._body, self._size, self._received = body, size, there
                return
            yield body
        self._partial = end - at
        self._first[: self._partial] = bytes(self._first[at:end])

    def _next_buffer(self) -> Buffer:
        buffer = self._buffer()
        if buffer is None:
            raise OSError("a response without a request")
        return buffer
