"""Decodes, splits and encodes the records of a batch, where it cannot be copied as bytes.

A record is its offset, its timestamp and the *rest*: the unchanged bytes of key, value and
headers. So re-encoding changes only how records are batched.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crc32c import crc32c

from replication.errors import CorruptBatch
from replication.model import NO_LEADER_EPOCH, NO_PRODUCER, NO_SEQUENCE
from replication.records.batch import HEADER, HEADER_SIZE, LOG_APPEND_TIME, OLD_FORMAT, Batch
from replication.records.compression import CODEC_MASK, compress, decompress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_MIN_SIZE = 7  # bytes of a record: a length, six fields of one byte each, nothing else
MOST_RECORDS = 1 << 20  # of a batch that is decoded: each takes 150 bytes of memory beside its own
_MAX_TIMESTAMP = 1 << 62  # ms; the distance of two timestamps must fit into 64 bits


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One record: ``rest`` is key, value and headers, encoded as in the batch."""

    offset: int
    timestamp: int  # ms
    rest: bytes


def decode(batch: Batch, where: object = "record batch") -> list[BatchRecord]:
    """Return the batch's records in order.

    With LogAppendTime each record has the batch's max timestamp, in format 0 it has -1: none.
    Raises CorruptBatch naming ``where`` and the offset.
    """
    try:
        codec = 0 if batch.attributes & OLD_FORMAT else batch.attributes & CODEC_MASK
        data = decompress(codec, batch.view[HEADER_SIZE:])
        return list(_records(batch, memoryview(data)))
    except (CorruptBatch, IndexError) as error:
        reason = error if isinstance(error, CorruptBatch) else "it ends within a record"
        raise CorruptBatch(f"reading {where} at offset {batch.base}: {reason}") from error


def _records(batch: Batch, data: memoryview) -> Iterable[BatchRecord]:
    """Yield the records. Lengths and counts of a damaged batch are checked before they are used."""
    if batch.count * _MIN_SIZE > len(data):
        raise CorruptBatch(f"{batch.count} records in {len(data)} bytes")
    if batch.count > MOST_RECORDS:
        raise CorruptBatch(f"{batch.count} records; {MOST_RECORDS} at most can be decoded")
    position, following = 0, batch.base
    for _ in range(batch.count):
        length, position = read_varint(data, position)
        end = position + length
        if length < 1 or end > len(data):
            raise CorruptBatch(f"a record of {length} bytes")
        timestamp, after = read_varint(data, position + 1)  # past the attributes, always 0
        delta, after = read_varint(data, after)
        offset = batch.base + delta
        time_ms = (
            batch.max_timestamp
            if batch.attributes & LOG_APPEND_TIME
            else (batch.base_timestamp + timestamp)
        )
        if after > end or not following <= offset <= batch.last or abs(time_ms) >= _MAX_TIMESTAMP:
            raise CorruptBatch(f"a record at {offset} of {length} bytes, timestamp {time_ms}")
        yield BatchRecord(offset, time_ms, bytes(data[after:end]))
        position, following = end, offset + 1
    if position != len(data):
        raise CorruptBatch(f"{len(data) - position} bytes after the last record")


def encode(records: Sequence[BatchRecord], codec: int = 0) -> bytearray:
    """Return one batch of ``records``, with dense offsets and without a producer.

    Timestamps are the records' own (CreateTime). ``records`` must not be empty.
    """
    first = records[0].timestamp
    body = bytearray()
    for number, record in enumerate(records):
        head = b"\0" + varint(record.timestamp - first) + varint(number)
        body += varint(len(head) + len(record.rest)) + head + record.rest
    latest = max(record.timestamp for record in records)
    return batch_of_body(bytes(body), len(records), first, latest, codec)


def batch_of_body(body: bytes, count: int, first: int, latest: int, codec: int = 0) -> bytearray:
    """Return the batch of ``count`` encoded records, without a producer.

    ``first``: the time in ms that theirs are counted from; ``latest``: the greatest of theirs.
    """
    batch = bytearray(HEADER_SIZE) + compress(codec, body)
    HEADER.pack_into(
        batch, 0, 0, len(batch) - 12, NO_LEADER_EPOCH, 2, 0, codec, count - 1, first, latest,
        *NO_PRODUCER, NO_SEQUENCE, count,
    )  # fmt: skip
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return batch


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The remaining records of a batch; ``batch`` is None when none remain."""

    batch: bytearray | None
    offsets: tuple[int, ...]  # source offsets of its records
    skipped: int


def reshape(
    batch: Batch,
    *,
    within: range,
    skip: int,
    where: object,
    recast: Callable[[BatchRecord], BatchRecord | None] | None = None,
) -> Reshaped:
    """Re-encode the records of ``batch`` at the offsets ``within``, without the next ``skip``.

    Keeps the compression codec, timestamps, keys, values, headers and order. ``recast`` changes
    single records, or returns None for those to leave out, which are not counted either.
    """
    records = [each for each in decode(batch, where) if each.offset in within]
    if recast is not None:
        records = [changed for each in records if (changed := recast(each)) is not None]
    skipped = min(skip, len(records))
    rest = records[skipped:]
    if not rest:
        return Reshaped(None, (), skipped)
    packed = encode(rest, batch.attributes & CODEC_MASK)
    return Reshaped(packed, tuple(each.offset for each in rest), skipped)


def split(batch: Batch, where: object) -> tuple[bytearray, bytearray]:
    """Return two batches with the records of one: the first half, rounded down, and the rest.

    Keeps the compression codec, timestamps, keys, values, headers and order.
    """
    records, codec = decode(batch, where), batch.attributes & CODEC_MASK
    half = len(records) // 2
    return encode(records[:half], codec), encode(records[half:], codec)


def coalesce(batches: Sequence[Batch], where: object) -> bytearray:
    """Return one batch with the records of all, in order, in the first one's codec."""
    records = [record for batch in batches for record in decode(batch, where)]
    return encode(records, batches[0].attributes & CODEC_MASK)


def plain_record(
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] = (),
) -> BatchRecord:
    """Build a record of our own, as in the state topics."""
    return BatchRecord(0, timestamp, _rest(key, value, list(headers)))


def _rest(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()
) -> bytes:
    return b"".join((_sized(key), _sized(value), encoded_headers(headers)))


def encoded_headers(headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    """Return headers as they stand in a record: behind their count."""
    parts = [varint(len(headers))]
    for name, content in headers:
        parts += [_sized(name.encode()), _sized(content)]
    return b"".join(parts)


def with_headers(rest: bytes, more: Iterable[tuple[str, bytes]]) -> bytes:
    """Return ``rest``, a record's key, value and headers, with headers added before its own."""
    listed, data = list(more), memoryview(rest)
    _, after_key = _take(data, 0)
    _, after_value = _take(data, after_key)
    count, headers = read_varint(data, after_value)
    parts = [rest[:after_value], varint(count + len(listed))]
    for name, content in listed:
        parts += [_sized(name.encode()), _sized(content)]
    return b"".join([*parts, rest[headers:]])


def key_and_value(record: BatchRecord) -> tuple[bytes | None, bytes | None]:
    """Return the key and the value of a record; None where it has none. Raises CorruptBatch."""
    data = memoryview(record.rest)
    try:
        key, position = _take(data, 0)
        value, _ = _take(data, position)
    except IndexError as error:
        raise CorruptBatch(f"reading a record of {len(data)} bytes: {error}") from error
    return key, value


def headers_of(record: BatchRecord) -> list[tuple[str, bytes | None]]:
    """Return the headers of a record. Raises CorruptBatch."""
    data = memoryview(record.rest)
    try:
        _, position = _take(data, 0)
        _, position = _take(data, position)
        count, position = read_varint(data, position)
        found: list[tuple[str, bytes | None]] = []
        for _ in range(count):
            name, position = _take(data, position)
            content, position = _take(data, position)
            found.append(((name or b"").decode(errors="replace"), content))
    except (IndexError, CorruptBatch) as error:
        raise CorruptBatch(f"reading the headers of a record: {error}") from error
    return found


def _take(data: memoryview, position: int) -> tuple[bytes | None, int]:
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    if size > len(data) - position:
        raise CorruptBatch(f"{size} bytes where {len(data) - position} are left")
    return bytes(data[position : position + size]), position + size


def _sized(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def varint(value: int) -> bytes:
    """Encode a signed number as in records: zigzag, seven bits per byte, low bits first."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(data: memoryview, position: int) -> tuple[int, int]:
    """Return the number at ``position`` and the position after it. Raises IndexError."""
    raw = shift = 0
    while True:
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7
        if shift > 63:
            raise CorruptBatch("a number longer than ten bytes")
