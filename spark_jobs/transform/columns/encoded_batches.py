"""Encodes records to record batches from Arrow columns, without an object a record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replication.records.codec import BatchRecord, batch_of_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Unsigned = npt.NDArray[np.uint64]

_BATCH_BYTES = 512 << 10  # before compression: a topic takes 1 MB unless its limit was lowered
_MOST_SINGLE, _MOST_BYTES = 5_000, 64 << 20  # of what was added one by one, before it is a column
_NOTHING = pa.scalar(b"", pa.binary())


class Encoded(NamedTuple):
    """A batch without a producer, and how many records it has."""

    batch: bytearray
    records: int


@dataclass(slots=True)
class TargetRecords:
    """The records for one target partition, in order: times in ms, and key, value and headers."""

    parts: list[tuple[Numbers, pa.BinaryArray]] = field(default_factory=list)
    _times: list[int] = field(default_factory=list)
    _rests: list[bytes] = field(default_factory=list)
    _bytes: int = 0  # of these

    @classmethod
    def of(cls, records: Iterable[BatchRecord]) -> TargetRecords:
        """Return records as columns."""
        found = cls()
        for each in records:
            found.add(each)
        return found

    def add(self, record: BatchRecord) -> None:
        """Add one record."""
        self._times.append(record.timestamp)
        self._rests.append(record.rest)
        self._bytes += len(record.rest)
        if len(self._times) >= _MOST_SINGLE or self._bytes >= _MOST_BYTES:
            self.flush()

    def extend(self, times: Numbers, rests: pa.BinaryArray) -> None:
        """Add records."""
        self.flush()
        if len(times):
            self.parts.append((times, rests))

    def join(self, other: TargetRecords) -> None:
        """Add all records of ``other``."""
        other.flush()
        for times, rests in other.parts:
            self.extend(times, rests)

    def records(self) -> Iterator[BatchRecord]:
        """Yield the records one by one."""
        self.flush()
        for times, rests in self.parts:
            for time_ms, rest in zip(times.tolist(), rests.to_pylist(), strict=True):
                yield BatchRecord(0, time_ms, rest)

    @property
    def size(self) -> int:
        """Bytes of keys, values and headers."""
        self.flush()
        return sum(int(_lengths(rests).sum()) for _, rests in self.parts)

    def batches(self, codec: int) -> Iterator[Encoded]:
        """Yield the records as batches of at most 512 kB, or of one record."""
        self.flush()
        for times, rests in self.parts:
            behind = np.cumsum(_lengths(rests) + 16)
            begin = 0
            while begin < len(times):
                before = int(behind[begin - 1]) if begin else 0
                end = int(np.searchsorted(behind, before + _BATCH_BYTES, "right"))
                end = max(end, begin + 1)
                yield _encoded(times[begin:end], rests.slice(begin, end - begin), codec)
                begin = end

    def flush(self) -> None:
        """Make columns of what was added one by one."""
        if self._times:
            times = np.array(self._times, np.int64)
            self.parts.append((times, pa.array(self._rests, pa.binary())))
            self._times, self._rests, self._bytes = [], [], 0


def rests_of(keys: pa.BinaryArray, values: pa.BinaryArray, headers: pa.ListArray) -> pa.BinaryArray:
    """Return key, value and headers of each record as they are encoded in a batch."""
    return joined(sized(keys), sized(values), listed(headers))


def sized(column: pa.BinaryArray) -> pa.BinaryArray:
    """Return keys or values as they are encoded: behind their lengths; null has the length -1."""
    lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
    return joined(_packed(lengths.astype(np.int64)), pc.fill_null(column, _NOTHING))


def listed(headers: pa.ListArray) -> pa.BinaryArray:
    """Return headers as they are encoded: behind their count."""
    counts = pc.fill_null(pc.list_value_length(headers), 0).to_numpy(zero_copy_only=False)
    names, contents = headers.flatten().flatten()
    pairs = joined(sized(names.cast(pa.binary())), sized(contents))
    bounds = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array(bounds), pairs), _NOTHING)
    return joined(_packed(counts.astype(np.int64)), whole)


def joined(*columns: pa.BinaryArray) -> pa.BinaryArray:
    """Return the bytes of each row behind each other."""
    return pc.binary_join_element_wise(*columns, _NOTHING)


def _encoded(times: Numbers, rests: pa.BinaryArray, codec: int) -> Encoded:
    """Return one batch, as ``replication.records.codec.encode`` does."""
    count, first = len(times), int(times[0])
    deltas, numbers = times - first, np.arange(count)
    lengths = 1 + _widths(deltas) + _widths(numbers) + _lengths(rests)
    heads = _packed(lengths, None, deltas, numbers)
    body = bytes(_bytes_of(joined(heads, rests)))
    return Encoded(batch_of_body(body, count, first, int(times.max()), codec), count)


def _bytes_of(column: pa.BinaryArray) -> memoryview:
    """Return all bytes of a column, one value behind the other."""
    bounds = np.frombuffer(column.buffers()[1], np.int32)[column.offset :]
    return memoryview(column.buffers()[2])[bounds[0] : bounds[len(column)]]


def _lengths(column: pa.BinaryArray) -> Numbers:
    found: Numbers = pc.binary_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _packed(*columns: Numbers | None) -> pa.BinaryArray:
    """Return numbers as in records, those of a row behind each other; None: a byte 0.

    Zigzag, seven bits a byte, low bits first.
    """
    count = next(len(each) for each in columns if each is not None)
    listed = [np.zeros(count, np.uint64) if each is None else _zigzag(each) for each in columns]
    widths = [_bytes_in(each) for each in listed]
    bounds = np.zeros(count + 1, np.int64)
    np.cumsum(np.sum(widths, axis=0), out=bounds[1:])
    flat, place = np.zeros(int(bounds[-1]), np.uint8), bounds[:-1]
    for number, width in zip(listed, widths, strict=True):
        _write(flat, place, number, width)
        place = place + width
    buffers = [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(flat)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _write(flat: npt.NDArray[np.uint8], place: Numbers, number: Unsigned, width: Numbers) -> None:
    """Write each number at its place."""
    for byte in range(int(width.max(initial=0))):
        having = slice(None) if byte == 0 else np.flatnonzero(width > byte)
        bits = (number[having] >> np.uint64(7 * byte)) & np.uint64(0x7F)
        goes_on = (width[having] > byte + 1).astype(np.uint64) << np.uint64(7)
        flat[place[having] + byte] = bits | goes_on


def _widths(numbers: Numbers) -> Numbers:
    """Return how many bytes each number takes."""
    return _bytes_in(_zigzag(numbers))


def _zigzag(numbers: Numbers) -> Unsigned:
    return ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)


def _bytes_in(numbers: Unsigned) -> Numbers:
    width = np.ones(len(numbers), np.int64)
    bits, most = 7, int(numbers.max(initial=0))
    while bits < 64 and most >> bits:
        width += numbers >= np.uint64(1 << bits)
        bits += 7
    return width
