"""The floor of CPU cost: a relay that fetches batches, renews checksums and sends them.

One thread, plain sockets, no error handling, no acknowledgements: the bytes go to a socket
that drops them. Nothing that copies whole batches can use less CPU time in this language.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crc32c import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterator

_FETCH, _VERSION = 1, 4  # the oldest Fetch that Kafka 4 answers, and the simplest
_AT_ONCE = 4 << 20  # bytes of a partition in one answer
_BUFFER = 1 << 20  # of a socket
_BATCH = struct.Struct(">qiibIhi")  # base offset, length, epoch, magic, CRC, attributes, last delta
_COUNT_AT, _CRC_FROM = 57, 21
_CONTROL = 0x20


@dataclass(slots=True)
class RelayPositions:
    """What is read: a topic, and the next offset of each partition."""

    topic: bytes
    positions: dict[int, int]

    def request(self) -> bytes:
        """Return a Fetch request for what comes next in every partition."""
        head = struct.pack(">hhih", _FETCH, _VERSION, 0, -1)
        limits = struct.pack(">iiiib", -1, 500, 1, len(self.positions) * _AT_ONCE, 0)
        topic = struct.pack(">ih", 1, len(self.topic)) + self.topic
        parts = b"".join(struct.pack(">iqi", p, at, _AT_ONCE) for p, at in self.positions.items())
        body = head + limits + topic + struct.pack(">i", len(self.positions)) + parts
        return struct.pack(">i", len(body)) + body

    def batches(self, partition: int, records: memoryview) -> Iterator[tuple[memoryview, int]]:
        """Walk whole batches, moving the position on; yields each with its records."""
        at = 0
        while at + _COUNT_AT + 4 <= len(records):
            base, length, _, _, _, attributes, delta = _BATCH.unpack_from(records, at)
            end = at + 12 + length
            if end > len(records):
                return
            self.positions[partition] = base + delta + 1
            (count,) = struct.unpack_from(">i", records, at + _COUNT_AT)
            yield records[at:end], 0 if attributes & _CONTROL else count
            at = end


def relay_cost(source: str, topic: str, partitions: int, records: int) -> tuple[float, int]:
    """Relay ``records`` of a topic from its start; return CPU seconds and bytes."""
    with _sink() as sink, _connected(source) as broker:
        began = time.thread_time()  # of this thread alone: the bench's clients do not count
        reading = RelayPositions(topic.encode(), dict.fromkeys(range(partitions), 0))
        size = _relay(broker, sink, reading, records)
        return time.thread_time() - began, size


def _relay(
    broker: socket.socket, sink: socket.socket, reading: RelayPositions, records: int
) -> int:
    buffers = [memoryview(bytearray(_room(reading))) for _ in range(2)]
    turn = size = 0
    broker.sendall(reading.request())
    while records > 0:
        answer = _receive(broker, buffers[turn])
        turn ^= 1
        ready = [each for p, found in _parts(answer) for each in reading.batches(p, found)]
        broker.sendall(reading.request())  # in flight while these are sent
        for batch, count in ready:
            struct.pack_into(">I", batch, _CRC_FROM - 4, crc32c(batch[_CRC_FROM:]))
            sink.sendall(batch)
            records -= count
            size += len(batch)
    return size


def _room(reading: RelayPositions) -> int:
    """Return the bytes that the largest answer to a request may have."""
    return len(reading.positions) * (_AT_ONCE + 1024) + 1024


def _receive(broker: socket.socket, buffer: memoryview) -> memoryview:
    """Read one answer into the buffer; returns it without its length."""
    (size,) = struct.unpack_from(">i", _fill(broker, buffer[:4]))
    return _fill(broker, buffer[:size])


def _fill(broker: socket.socket, room: memoryview) -> memoryview:
    at = 0
    while at < len(room):
        got = broker.recv_into(room[at:])
        if not got:
            raise ConnectionError("the broker closed the connection")
        at += got
    return room


def _connected(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=30)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    return connection


@contextlib.contextmanager
def _sink() -> Iterator[socket.socket]:
    """Connect to a process that discards its input."""
    context = multiprocessing.get_context("spawn")
    with socket.create_server(("127.0.0.1", 0)) as server:
        drain = context.Process(target=_drain, args=(server,), daemon=True)
        drain.start()
        try:
            with socket.create_connection(server.getsockname(), timeout=30) as sink:
                sink.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
                yield sink
        finally:
            drain.join(5)
            drain.kill()


def _drain(server: socket.socket) -> None:
    connection, _ = server.accept()
    room = bytearray(_BUFFER)
    while connection.recv_into(room):
        pass


def _parts(answer: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Take a Fetch answer about one topic apart: partition and records."""
    (name,) = struct.unpack_from(">h", answer, 12)
    at = 14 + name
    (count,) = struct.unpack_from(">i", answer, at)
    at += 4
    for _ in range(count):
        partition, error, _, _, aborted = struct.unpack_from(">ihqqi", answer, at)
        if error:
            raise OSError(f"fetching partition {partition}: error {error}")
        at += 26 + 16 * max(0, aborted)
        (size,) = struct.unpack_from(">i", answer, at)
        yield partition, answer[at + 4 : at + 4 + max(0, size)]
        at += 4 + max(0, size)
