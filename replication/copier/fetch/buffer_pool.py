"""The bounded pool of a unit's fetch buffers: while a slow target holds all, nothing is fetched."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from replication.client.fetch_values import FetchBuffer

_LARGEST_FETCH = 8 << 20


class BufferPool:
    """The fetch buffers of a unit: a fixed number, each as large as the largest response it held.

    A buffer that grew for a record larger than a Fetch gives its memory back afterwards.
    """

    def __init__(self, count: int = 0, most: int = _LARGEST_FETCH) -> None:
        self._free: deque[FetchBuffer] = deque()
        self._count = 0
        self._most = most
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.resize(count, most)

    def resize(self, count: int, most: int) -> None:
        """Provide at least ``count`` buffers, for responses of ``most`` bytes."""
        self._most = most
        for _ in range(count - self._count):
            self._give_back(FetchBuffer(on_free=self._give_back))
        self._count = max(count, self._count)

    def try_take(self) -> FetchBuffer | None:
        """Hold and return a free buffer, or None when all are in use."""
        if not self._free:
            return None
        buffer = self._free.popleft()
        buffer.hold()
        return buffer

    async def take(self) -> FetchBuffer:
        """Wait for a free buffer, hold and return it."""
        while (buffer := self.try_take()) is None:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # the free buffer was for this waiter: pass it on
                    self._wake()
                raise
        return buffer

    def replace(self, buffer: FetchBuffer) -> None:
        """Replace ``buffer`` by a new one: a response may still be written into it."""
        buffer.on_free = None
        self._give_back(FetchBuffer(on_free=self._give_back))

    def _give_back(self, buffer: FetchBuffer) -> None:
        if len(buffer.memory) > 2 * self._most:
            buffer.memory = bytearray()
        self._free.append(buffer)
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


class BuffersAndBytes(NamedTuple):
    """How many fetch buffers a unit has, and the max.bytes of a Fetch."""

    buffers: int
    bytes: int


def buffers_for(buffer_bytes: int, brokers: int) -> BuffersAndBytes:
    """Return how many buffers a unit has and how large a Fetch may be, within ``buffer_bytes``.

    At least two per broker: one receives a response while the other is produced.
    """
    count = max(4, 2 * brokers + 1)
    return BuffersAndBytes(count, min(_LARGEST_FETCH, max(1 << 20, buffer_bytes // count)))
