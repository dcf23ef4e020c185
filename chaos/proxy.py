"""TCP proxies in front of brokers, with delay, loss, blocks and cut connections."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_CHUNK = 64 << 10
_CHUNKS = 64  # on their way in one direction of one connection, before the sender has to wait
_RETRANSMISSION_S = (0.2, 0.6)  # what a lost packet costs
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Weather:
    """How the network is. Loss on a TCP connection is lateness: all behind it waits as well."""

    delay_s: float = 0.0
    loss: float = 0.0  # chance that a chunk has to be sent again
    chance: random.Random = field(default_factory=random.Random)

    def lateness(self) -> float:
        """Return how long the next chunk is on its way."""
        lost = self.loss > 0 and self.chance.random() < self.loss
        return self.delay_s + (self.chance.uniform(*_RETRANSMISSION_S) if lost else 0.0)


@dataclass(slots=True, eq=False)
class _Link:
    """One connection: the sides' writers, and whether it is half open (nothing arrives)."""

    writers: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    half_open: bool = False

    def end(self, *, reset: bool = False) -> None:
        for writer in self.writers:
            sock = writer.get_extra_info("socket")
            if reset and sock is not None and not writer.is_closing():
                with contextlib.suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            writer.transport.abort()


class Proxy:
    """Forwards connections to ``behind``, through a port of its own. For any thread."""

    def __init__(self, behind: tuple[str, int]) -> None:
        self.behind = behind
        self.weather = Weather()
        self._links: set[_Link] = set()
        self._works: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._passable = asyncio.Event()
        self._passable.set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        listening = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = listening.getsockname()
        self._server = self._run(asyncio.start_server(self._accept, sock=listening))

    def cut(self) -> int:
        """Reset all connections, whatever they carry; return how many there were."""
        return self._do(self._end_all)

    def strand(self) -> int:
        """Leave all connections half open: nothing arrives any more, silently.

        New ones work. Returns how many there were.
        """
        return self._do(self._strand_all)

    def block(self) -> None:
        """Let nothing through until ``unblock``; what is sent meanwhile arrives then."""
        self._do(self._passable.clear)

    def unblock(self) -> None:
        self._do(self._passable.set)

    def close(self) -> None:
        """Close the port and all connections; the second time nothing happens."""
        if self._loop.is_closed():
            return
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[None, None, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _do(self, action: Callable[[], Answer]) -> Answer:
        async def work() -> Answer:
            return action()

        return self._run(work())

    def _end_all(self) -> int:
        ended = list(self._links)
        for link in ended:
            link.end(reset=True)
        return len(ended)

    def _strand_all(self) -> int:
        for link in self._links:
            link.half_open = True
        return len(self._links)

    async def _close(self) -> None:
        self._server.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            self._end_all()
            for each in self._works:
                each.cancel()
            await asyncio.wait(others)  # a client that was just let in begins another one
        await asyncio.sleep(0)  # sockets are closed in the loop's next round

    async def _accept(self, near: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        work = asyncio.current_task()
        if work is None:
            raise RuntimeError("a connection outside any task")
        self._works.add(work)
        work.add_done_callback(self._works.discard)
        try:
            far, beyond = await asyncio.open_connection(*self.behind)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
            return
        link = _Link((writer, beyond))
        self._links.add(link)
        try:
            with contextlib.suppress(asyncio.CancelledError):  # asked to, when closing
                await asyncio.gather(
                    self._carry(near, beyond, link), self._carry(far, writer, link)
                )
        finally:
            link.end()
            self._links.discard(link)

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, link: _Link
    ) -> None:
        """Carry one direction; its end ends the other one too."""
        on_the_way: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue(_CHUNKS)
        delivering = asyncio.ensure_future(self._deliver(on_the_way, sink, link))
        try:
            with contextlib.suppress(OSError):
                while data := await source.read(_CHUNK):
                    await on_the_way.put((self._loop.time() + self.weather.lateness(), data))
            await on_the_way.put(None)
            await delivering
        finally:
            delivering.cancel()
            link.end()

    async def _deliver(
        self,
        on_the_way: asyncio.Queue[tuple[float, bytes] | None],
        sink: asyncio.StreamWriter,
        link: _Link,
    ) -> None:
        while (chunk := await on_the_way.get()) is not None:
            due, data = chunk
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            await self._passable.wait()
            if link.half_open:
                continue
            try:
                sink.write(data)
                await sink.drain()
            except OSError:
                link.end()  # and read on, so that nobody waits for room on the way
