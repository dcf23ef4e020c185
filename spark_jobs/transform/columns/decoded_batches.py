"""Decodes record batches to columns of Arrow and numpy, without an object a record.

Only the lengths of records are followed one by one; all other fields are read for all records at
once. ``replication.records.record_fields`` decodes the same one by one, and says what is damaged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from replication.errors import CorruptBatch
from replication.records.batch import HEADER_SIZE, LOG_APPEND_TIME, OLD_FORMAT
from replication.records.codec import read_varint
from replication.records.compression import CODEC_MASK, decompress
from replication.records.record_fields import fields_of
from replication.transforms.transformed_record import SourceRecord
from spark_jobs.transform.columns.encoded_records import PARTS, EncodedRecords, gathered
from spark_jobs.transform.columns.record_columns import (
    HEADERS,
    MILLISECONDS,
    RECORDS,
    TIMESTAMP,
    headers_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    from replication.model import TopicPartition
    from replication.records.batch import Batch

    Numbers = npt.NDArray[np.int64]
    Bytes = npt.NDArray[np.uint8]

_MOST_BYTES = 1 << 31  # of all batches: Arrow's places have 32 bits
_MOST_TOGETHER = 32  # headers of a record that are read for all records at once
# By the two bytes at its place: a signed number of one or two bytes, and how many it has.
_CODES = np.arange(1 << 16)
_HAS_ONE = _CODES & 0x80 == 0
_UNSIGNED = np.where(_HAS_ONE, _CODES & 0x7F, _CODES & 0x7F | _CODES >> 8 << 7)
_SIGNED, _WIDTHS = (_UNSIGNED >> 1) ^ -(_UNSIGNED & 1), np.where(_HAS_ONE, 1, 2)


# By the first of two bytes of a record's length: how far the record reaches, without the second's.
_LOW = [2 + ((each & 0x7F) >> 1) for each in range(256)]


class _Parts(NamedTuple):
    """Where a part of each record is; ``lengths`` is negative where it is null."""

    starts: Numbers
    lengths: Numbers

    @property
    def ends(self) -> Numbers:
        return self.starts + np.maximum(self.lengths, 0)


@dataclass(frozen=True, slots=True)
class DecodedRecords:
    """The records of some batches, in order, in one buffer."""

    batches: Sequence[Batch]
    where: object
    data: bytes
    offsets: Numbers
    times: Numbers  # ms; -1: none
    rests: _Parts  # key, value and headers as they are encoded
    keys: _Parts
    values: _Parts
    header_counts: Numbers
    header_starts: Numbers

    def __len__(self) -> int:
        return len(self.offsets)

    def columns(self, names: Iterable[str]) -> dict[str, pa.Array]:
        """Return ``offset``, ``timestamp``, ``key``, ``value`` or ``headers`` as Arrow columns.

        Raises CorruptBatch for damaged headers.
        """
        try:
            return {each: self._column(each) for each in names}
        except IndexError:
            raise _damage(self.batches, self.where) from None

    def seen(self, where: TopicPartition, names: Sequence[str] = RECORDS.names) -> pa.RecordBatch:
        """Return the records, which are of this partition, as columns of RECORDS.

        Raises CorruptBatch for damaged headers.
        """
        found = self.columns(each for each in names if each not in ("topic", "partition"))
        found["topic"] = pa.repeat(pa.scalar(where.topic), len(self))
        found["partition"] = pa.repeat(pa.scalar(where.partition, pa.int32()), len(self))
        schema = pa.schema([RECORDS.field(each) for each in names])
        return pa.RecordBatch.from_arrays([found[each] for each in names], schema=schema)

    def singles(self, names: Collection[str] = PARTS) -> list[SourceRecord]:
        """Return the records one by one; parts that are not named are left out.

        Raises CorruptBatch for damaged headers.
        """
        none = [None] * len(self)
        found = {name: each.to_pylist() for name, each in self.columns(names).items()}
        keys, values, headers = (found.get(each, none) for each in PARTS)
        listed = map(headers_of, headers)
        places = self.offsets.tolist(), self.times.tolist()
        return list(starmap(SourceRecord, zip(*places, keys, values, listed, strict=True)))

    def between(self, first: int, end: int) -> DecodedRecords:
        """Return the records with offsets from ``first`` to ``end``."""
        kept = np.flatnonzero((self.offsets >= first) & (self.offsets < end))
        return self if len(kept) == len(self) else self.at(kept)

    def at(self, places: Numbers) -> DecodedRecords:
        """Return the records at these places, which ascend."""
        rests, keys, values = (
            _Parts(each.starts[places], each.lengths[places])
            for each in (self.rests, self.keys, self.values)
        )
        return replace(
            self,
            offsets=self.offsets[places],
            times=self.times[places],
            rests=rests,
            keys=keys,
            values=values,
            header_counts=self.header_counts[places],
            header_starts=self.header_starts[places],
        )

    @property
    def encoded(self) -> EncodedRecords:
        """The same records as they are encoded."""
        listed = (self.rests.starts, self.keys.ends, self.values.ends, self.rests.ends)
        bounds = np.array(listed, np.int32)
        return EncodedRecords(self.data, self.offsets, self.times, bounds)

    def _column(self, name: str) -> pa.Array:
        if name == "offset":
            return pa.array(self.offsets)
        if name == "timestamp":
            return pa.array(self.times).cast(MILLISECONDS).cast(TIMESTAMP)
        if name == "headers":
            return self._headers()
        parts = {"key": self.keys, "value": self.values}[name]
        return _valued(self.data, parts)

    def _headers(self) -> pa.ListArray:
        names, values, ends = _header_parts(self.data, self.header_counts, self.header_starts)
        has_some = self.header_counts > 0
        if not np.array_equal(ends[has_some], self.rests.ends[has_some]):
            raise IndexError
        pairs = pa.StructArray.from_arrays(
            [_text(_valued(self.data, names)), _valued(self.data, values)],
            fields=list(HEADERS.value_type),
        )
        bounds = np.concatenate(([0], np.cumsum(self.header_counts))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(bounds), pairs, type=HEADERS)


def decode(batches: Sequence[Batch], bounds: tuple[int, int], where: object) -> DecodedRecords:
    """Return the records of ``batches`` with offsets from ``bounds[0]`` to ``bounds[1]``.

    Raises CorruptBatch naming ``where`` and an offset.
    """
    try:
        return _decoded(batches, *bounds, where)
    except (CorruptBatch, IndexError):
        raise _damage(batches, where) from None


def parts_of(rests: pa.BinaryArray) -> tuple[pa.BinaryArray, pa.BinaryArray, pa.BinaryArray]:
    """Return keys, values, and headers as they are encoded, of encoded records."""
    if not len(rests):
        return rests, rests, rests
    _, places, data = rests.buffers()
    bounds = np.frombuffer(places, np.int32)[rests.offset :][: len(rests) + 1].astype(np.int64)
    raw = np.frombuffer(data, np.uint8)
    keys, at = _sized(raw, bounds[:-1])
    values, at = _sized(raw, at)
    headers = _Parts(at, bounds[1:] - at)
    whole = memoryview(data)
    return _valued(whole, keys), _valued(whole, values), _valued(whole, headers)


def _damage(batches: Sequence[Batch], where: object) -> CorruptBatch:
    """Return what is wrong with batches that cannot be decoded."""
    try:
        for each in batches:
            fields_of(each, where)
    except CorruptBatch as error:
        return error
    return CorruptBatch(f"reading {where} at offset {batches[0].base}: a record is damaged")


def _decoded(batches: Sequence[Batch], first: int, end: int, where: object) -> DecodedRecords:
    bodies: list[bytes] = []
    begins: list[Numbers] = []
    place = 0
    for batch in batches:
        codec = 0 if batch.attributes & OLD_FORMAT else batch.attributes & CODEC_MASK
        body = bytes(decompress(codec, batch.view[HEADER_SIZE:]))
        begins.append(np.array(_follow(body, batch.count), np.int64) + place)
        bodies.append(body)
        place += len(body)
    if place >= _MOST_BYTES:
        raise IndexError
    data = bodies[0] if len(bodies) == 1 else b"".join(bodies)
    raw = np.frombuffer(data, np.uint8)
    at = np.concatenate(begins) if begins else np.zeros(0, np.int64)
    lengths, starts = _numbers(raw, at)
    whole = _Parts(starts, lengths)
    if np.any(lengths < 1) or np.any(whole.ends[:-1] != at[1:]):
        raise IndexError
    deltas, at = _numbers(raw, whole.starts + 1)  # behind the attributes, always 0
    numbers, rests = _numbers(raw, at)
    offsets, times, last = _placed(batches, numbers, deltas)
    if np.any(numbers < 0) or np.any(offsets > last):
        raise IndexError
    keys, at = _sized(raw, rests)
    values, at = _sized(raw, at)
    counts, at = _numbers(raw, at)
    ends, none = whole.ends, counts == 0
    if np.any(counts < 0) or np.any(counts > ends - at) or np.any(at[none] != ends[none]):
        raise IndexError
    whole_rests = _Parts(rests, ends - rests)
    found = DecodedRecords(
        batches, where, data, offsets, times, whole_rests, keys, values, counts, at
    )
    return found.between(first, end)


def _follow(data: bytes, count: int) -> list[int]:
    """Return where each record begins, with its length. It is the slowest part: kept short.

    Lengths may be negative, which is for whoever reads all of them at once.
    """
    at, begins, low = 0, list[int](), _LOW
    add = begins.append
    for _ in range(count):
        add(at)
        raw = data[at]
        if raw < 0x80:
            at += 1 + (raw >> 1)
        elif (more := data[at + 1]) < 0x80:
            at += low[raw] + (more << 6)
        else:
            length, at = read_varint(memoryview(data), at)
            at += length
    if at != len(data):
        raise IndexError
    return begins


def _placed(
    batches: Sequence[Batch], numbers: Numbers, deltas: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the offset and the time of each record, and the last offset of its batch."""
    counts = [each.count for each in batches]

    def spread(values: list[int]) -> Numbers:
        return np.repeat(np.array(values, np.int64), counts)

    appended = [bool(each.attributes & LOG_APPEND_TIME) for each in batches]
    times = spread([each.base_timestamp for each in batches]) + deltas
    if any(appended):
        stamped = np.repeat(np.array(appended), counts)
        times = np.where(stamped, spread([each.max_timestamp for each in batches]), times)
    bases, lasts = ([getattr(e, name) for e in batches] for name in ("base", "last"))
    return spread(bases) + numbers, times, spread(lasts)


def _sized(raw: Bytes, at: Numbers) -> tuple[_Parts, Numbers]:
    """Return the parts that begin with their lengths at ``at``, and the places behind them."""
    lengths, starts = _numbers(raw, at)
    parts = _Parts(starts, lengths)
    return parts, parts.ends


def _numbers(raw: Bytes, at: Numbers) -> tuple[Numbers, Numbers]:
    """Return the signed numbers at ``at``, and the places behind them. Raises IndexError."""
    code: npt.NDArray[np.intp] = raw.take(at).astype(np.intp)
    if code.max(initial=0) < 0x80:
        return _SIGNED.take(code), at + 1
    # A byte that is not there is that of a number of one byte, or the number has no end.
    code |= raw.take(at + 1, mode="clip").astype(np.intp) << 8
    found, behind = _SIGNED.take(code), at + _WIDTHS.take(code)
    if len(longer := np.flatnonzero(code & 0x8080 == 0x8080)):
        found[longer], behind[longer] = _long_numbers(raw, at[longer])
    return found, behind


def _long_numbers(raw: Bytes, at: Numbers) -> tuple[Numbers, Numbers]:
    value, shift = np.zeros(len(at), np.uint64), 0
    behind, left = at.copy(), np.arange(len(at))
    while len(left):
        if shift > 63:
            raise IndexError
        last = raw.take(behind[left])
        value[left] |= (last & 0x7F).astype(np.uint64) << np.uint64(shift)
        behind[left] += 1
        left, shift = left[last >= 0x80], shift + 7
    signed = (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64)
    return signed, behind


def _header_parts(data: bytes, counts: Numbers, starts: Numbers) -> tuple[_Parts, _Parts, Numbers]:
    """Return names and values of the headers of all records in order, and where records end."""
    raw, total = np.frombuffer(data, np.uint8), int(counts.sum())
    names, values = (_Parts(np.zeros(total, np.int64), np.zeros(total, np.int64)) for _ in "ab")
    first, ends = np.cumsum(counts) - counts, starts.copy()
    for level in range(min(int(counts.max(initial=0)), _MOST_TOGETHER)):
        having = np.flatnonzero(counts > level)
        places = first[having] + level
        ends[having] = _read_headers(raw, ends[having], (names, values), places)
    for each in np.flatnonzero(counts > _MOST_TOGETHER):
        for number in range(_MOST_TOGETHER, int(counts[each])):
            one = np.array([each])
            ends[one] = _read_headers(raw, ends[one], (names, values), first[one] + number)
    return names, values, ends


def _read_headers(raw: Bytes, at: Numbers, into: tuple[_Parts, _Parts], places: Numbers) -> Numbers:
    """Read the name and the value of a header at each place; return the places behind them."""
    for parts in into:
        found, at = _sized(raw, at)
        parts.starts[places], parts.lengths[places] = found
    return at


def _valued(data: bytes | memoryview, parts: _Parts) -> pa.BinaryArray:
    """Return parts, which lie in order in ``data``, as a column; negative lengths as null."""
    found = gathered(data, parts.starts, parts.ends)
    if not np.any(nulls := parts.lengths < 0):
        return found
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(found), [valid, *found.buffers()[1:]])


def _text(names: pa.BinaryArray) -> pa.StringArray:
    """Return names of headers as text; what is no UTF-8 has replacement characters."""
    try:
        return names.fill_null(b"").cast(pa.string())
    except pa.ArrowInvalid:
        listed = [(each or b"").decode(errors="replace") for each in names.to_pylist()]
        return pa.array(listed, pa.string())
