"""Decodes the records of a batch to their fields in one pass: offset, time, key, value, headers.

``codec`` keeps key, value and headers as bytes, for who encodes them again; this is for who reads
them. Checks the same: a batch whose lengths do not fit raises CorruptBatch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.errors import CorruptBatch
from replication.records.batch import HEADER_SIZE, LOG_APPEND_TIME, OLD_FORMAT, Batch
from replication.records.compression import CODEC_MASK, decompress

if TYPE_CHECKING:
    Headers = tuple[tuple[str, bytes | None], ...]
    Fields = tuple[int, int, bytes | None, bytes | None, Headers]

_NONE: Headers = ()


def fields_of(batch: Batch, where: object = "record batch") -> list[Fields]:
    """Return offset, timestamp in ms, key, value and headers of each record, in order.

    Raises CorruptBatch naming ``where`` and the offset.
    """
    codec = 0 if batch.attributes & OLD_FORMAT else batch.attributes & CODEC_MASK
    try:
        return _decoded(batch, bytes(decompress(codec, batch.view[HEADER_SIZE:])))
    except (CorruptBatch, IndexError) as error:
        reason = error if isinstance(error, CorruptBatch) else "it ends within a record"
        raise CorruptBatch(f"reading {where} at offset {batch.base}: {reason}") from error


def _decoded(batch: Batch, data: bytes) -> list[Fields]:
    """Decode. Numbers of one byte, which most are, are read here: a call costs more than they."""
    found: list[Fields] = []
    retimed = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else None
    base, first, size, at = batch.base, batch.base_timestamp, len(data), 0
    for _ in range(batch.count):
        raw = data[at]
        length, at = (raw >> 1, at + 1) if raw < 0x80 and not raw & 1 else _number(data, at)
        end = at + length
        if length < 1 or end > size:
            raise CorruptBatch(f"a record of {length} bytes")
        at += 1  # the attributes, always 0
        raw = data[at]
        delta, at = (raw >> 1, at + 1) if raw < 0x80 and not raw & 1 else _number(data, at)
        raw = data[at]
        number, at = (raw >> 1, at + 1) if raw < 0x80 and not raw & 1 else _number(data, at)
        key, at = _bytes(data, at, end)
        value, at = _bytes(data, at, end)
        headers = _NONE
        if data[at]:
            headers, at = _headers(data, at, end)
        else:
            at += 1
        if at != end or not 0 <= number <= batch.last - base:
            raise CorruptBatch(f"a record of {length} bytes does not end with its headers")
        found.append(
            (base + number, first + delta if retimed is None else retimed, key, value, headers)
        )
    if at != size:
        raise CorruptBatch(f"{size - at} bytes after the last record")
    return found


def _bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    raw = data[at]
    length, at = (raw >> 1, at + 1) if raw < 0x80 and not raw & 1 else _number(data, at)
    if length < 0:
        return None, at
    after = at + length
    if after > end:
        raise CorruptBatch(f"{length} bytes where {end - at} are left")
    return data[at:after], after


def _headers(data: bytes, at: int, end: int) -> tuple[Headers, int]:
    count, at = _number(data, at)
    if not 0 <= count <= end - at:
        raise CorruptBatch(f"{count} headers in {end - at} bytes")
    found = []
    for _ in range(count):
        name, at = _bytes(data, at, end)
        value, at = _bytes(data, at, end)
        found.append(((name or b"").decode(errors="replace"), value))
    return tuple(found), at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the signed number at ``at``, and the place behind it."""
    raw = shift = 0
    while True:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7
        if shift > 63:
            raise CorruptBatch("a number longer than ten bytes")
