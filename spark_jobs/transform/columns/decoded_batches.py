"""Decodes record batches to columns of Arrow and numpy, without an object a record.

Only the lengths of records are followed one by one; all other fields are read for all records at
once. ``replication.records.record_fields`` decodes the same one by one, and says what is damaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replication.errors import CorruptBatch
from replication.records.batch import HEADER_SIZE, LOG_APPEND_TIME, OLD_FORMAT
from replication.records.codec import read_varint
from replication.records.compression import CODEC_MASK, decompress
from spark_jobs.transform.columns.decoded_records import DecodedRecords, damage
from spark_jobs.transform.columns.sized_parts import Parts, numbers_at, sized, valued

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from replication.model import OffsetRange
    from replication.records.batch import Batch
    from spark_jobs.transform.columns.sized_parts import Numbers

_MOST_BYTES = 1 << 31  # of all batches: Arrow's places have 32 bits
# By the first of two bytes of a record's length: how far the record reaches, without the second's.
_LOW = [2 + ((each & 0x7F) >> 1) for each in range(256)]


def decode(batches: Sequence[Batch], bounds: OffsetRange, where: object) -> DecodedRecords:
    """Return the records of ``batches`` with offsets within ``bounds``.

    Raises CorruptBatch naming ``where`` and an offset.
    """
    try:
        return _decoded(batches, *bounds, where)
    except (CorruptBatch, IndexError):
        raise damage(batches, where) from None


def parts_of(rests: pa.BinaryArray) -> tuple[pa.BinaryArray, pa.BinaryArray, pa.BinaryArray]:
    """Return keys, values, and headers as they are encoded, of encoded records."""
    if not len(rests):
        return rests, rests, rests
    _, places, data = rests.buffers()
    bounds = np.frombuffer(places, np.int32)[rests.offset :][: len(rests) + 1].astype(np.int64)
    raw = np.frombuffer(data, np.uint8)
    keys, at = sized(raw, bounds[:-1])
    values, at = sized(raw, at)
    headers = Parts(at, bounds[1:] - at)
    whole = memoryview(data)
    return valued(whole, keys), valued(whole, values), valued(whole, headers)


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
    lengths, starts = numbers_at(raw, at)
    whole = Parts(starts, lengths)
    if np.any(lengths < 1) or np.any(whole.ends[:-1] != at[1:]):
        raise IndexError
    deltas, at = numbers_at(raw, whole.starts + 1)  # behind the attributes, always 0
    numbers, rests = numbers_at(raw, at)
    offsets, times, last = _placed(batches, numbers, deltas)
    if np.any(numbers < 0) or np.any(offsets > last):
        raise IndexError
    keys, at = sized(raw, rests)
    values, at = sized(raw, at)
    counts, at = numbers_at(raw, at)
    ends, none = whole.ends, counts == 0
    if np.any(counts < 0) or np.any(counts > ends - at) or np.any(at[none] != ends[none]):
        raise IndexError
    whole_rests = Parts(rests, ends - rests)
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
