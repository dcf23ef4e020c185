"""A partition at its broker: segments of bytes with a sparse index, searched as a broker does it.

As Kafka's LocalLog, LogSegment and FileLogInputStream: by headers, and no checksum is looked at.
"""

from __future__ import annotations

import struct

from replication.client.fetch_values import Fetched, Leader

_AT = struct.Struct(">qi")
_DELTA = struct.Struct(">i")
_PREFIX, _HEADER_UP_TO_MAGIC, _LEAST_SIZE = 12, 17, 14
CORRUPT_MESSAGE = 2


class CorruptLogError(Exception):
    """The broker answers with CORRUPT_MESSAGE."""


class SegmentedLog:
    """The leader of one partition; ``batches`` are (base offset, bytes), in order."""

    def __init__(self, batches, end: int, per_segment: int, per_entry: int) -> None:
        self.end = end
        self.segments: list[tuple[int, bytearray, list[tuple[int, int]]]] = []
        self.places: list[tuple[int, int]] = []  # of each batch: segment, position in it
        for number, (base, batch) in enumerate(batches):
            if number % per_segment == 0:
                self.segments.append((base, bytearray(), []))
            _, data, index = self.segments[-1]
            if number % per_segment % per_entry == 0:
                index.append((base, len(data)))
            self.places.append((len(self.segments) - 1, len(data)))
            data += batch

    def damage(self, batch: int, at: int, new: bytes) -> None:
        """Replace bytes of a batch from its byte ``at`` on."""
        segment, position = self.places[batch]
        data = self.segments[segment][1]
        data[position + at : position + at + len(new)] = new

    def bytes_of(self, batch: int, at: int, size: int) -> bytes:
        segment, position = self.places[batch]
        return bytes(self.segments[segment][1][position + at : position + at + size])

    def read(self, offset: int, most: int) -> bytes:
        """Return what stands from ``offset`` on: the first batch whole, then at most ``most``."""
        starts = [each[0] for each in self.segments]
        first = max((n for n, base in enumerate(starts) if base <= offset), default=0)
        for _, data, index in self.segments[first:]:
            found = self._find(data, index, offset)
            if found is not None:
                at, size = found
                return bytes(data[at : at + max(most, size)])
        return b""

    @staticmethod
    def _find(data, index, offset: int) -> tuple[int, int] | None:
        at = max((position for base, position in index if base <= offset), default=0)
        while at < len(data) - _HEADER_UP_TO_MAGIC:
            base, length = _AT.unpack_from(data, at)
            if length < _LEAST_SIZE:
                raise CorruptLogError
            if at > len(data) - _PREFIX - length:
                return None
            whole = at + 27 <= len(data) and data[at + 16] >= 2
            last = base + (_DELTA.unpack_from(data, at + 23)[0] if whole else 0)
            if last >= offset:
                return at, _PREFIX + length
            at += _PREFIX + length
        return None


class LogNetwork:
    """A cluster with one partition; ``replicas`` holds the log of each broker, the leader first."""

    def __init__(self, *replicas: SegmentedLog) -> None:
        self.replicas = replicas
        self.most: int | None = None  # bytes of an answer; None: as asked
        self.fetches = self.refreshed = 0
        self.local_start = 0  # what is before it is in tiered storage
        self.remote_error: int | None = None  # how reads from there end; 0: with nothing

    def leader(self, _partition) -> Leader:
        return Leader(0, 0)

    def in_sync(self, _partition) -> range:
        return range(len(self.replicas))

    def topic_id(self, _topic: str) -> bytes:
        return b"i" * 16

    async def refresh(self, _topics) -> None:
        self.refreshed += 1

    async def offset_at(self, _partition, timestamp: int) -> int:
        return self.local_start if timestamp == -4 else self.replicas[0].end

    async def fetch(self, node, entries, options, _into) -> list[Fetched]:
        self.fetches += 1
        return [self.answer(node, each, options.partition_bytes) for each in entries]

    def answer(self, node: int, entry, most: int) -> Fetched:
        """Return the response for one partition."""
        log, error, data = self.replicas[node], 0, b""
        if self.remote_error is not None and entry.offset < self.local_start:
            end = -1 if self.remote_error else log.end
            nothing = *(end, end, 0), [], -1, memoryview(b"")
            return Fetched(entry.topic_id, entry.partition, self.remote_error, *nothing)
        try:
            data = log.read(entry.offset, most if self.most is None else self.most)
        except CorruptLogError:
            error = CORRUPT_MESSAGE
        end = -1 if error else log.end
        records = memoryview(bytearray(data))
        return Fetched(entry.topic_id, entry.partition, error, end, end, 0, [], -1, records)
