"""Converts messages of formats 0 and 1, written by brokers before 0.11, to batches of format 2.

An old log may still start with them: brokers return them unchanged, those of 4.x too, which accept
no new ones. kafka-python reads and writes the formats (offsets of a compressed set,
LogAppendTime). This module adds the checks that it lacks: the size of an unpacked set, checksums,
complete messages, and ascending offsets.
"""

from __future__ import annotations

import struct
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import lz4.frame
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatch

from replication.errors import CorruptBatch
from replication.records.batch import MAGIC_AT, NO_TIMESTAMP, SMALLEST
from replication.records.compression import decompress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka.record.legacy_records import LegacyRecord

_PREFIX = 12  # offset and length; the length counts from here
_LENGTH = struct.Struct(">i")
_BASE = struct.Struct(">q")
_FLAGS_AT = 4  # of an lz4 frame, after its magic
_INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM = 0x20, 0x10, 0x08, 0x04


def to_format_2(message: memoryview) -> memoryview:
    """Return a message, or its compressed set, as one batch that is not compressed.

    Keeps offsets, also with holes, timestamps (NO_TIMESTAMP where format 0 has none), keys and
    values. Raises CorruptBatch, without the offset, for damaged or incomplete messages.
    """
    try:
        return _packed(_records(message))
    except (struct.error, RuntimeError, IndexError) as error:
        raise CorruptBatch(f"a message of {len(message)} bytes: {error}") from error


def _records(message: memoryview) -> list[LegacyRecord]:
    batch = _Messages(message, message[MAGIC_AT])
    if not batch.validate_crc():
        raise CorruptBatch("the checksum does not fit the bytes")
    _require_filled(message, batch.magic)
    found = list(batch)
    if not all(record.validate_crc() for record in found):
        raise CorruptBatch("the checksum does not fit the bytes")
    _require_rising([record.offset for record in found], batch.base_offset)
    return found


class _Messages(LegacyRecordBatch):  # type: ignore[misc]  # it has no types
    """A message, and the messages in its compressed set."""

    __slots__ = ()

    def _decompress(self, key_offset: int) -> bytes | bytearray:
        """Return the messages of the set, checked so that iterating them is safe."""
        _, value = self._read_key_value(key_offset)
        codec, magic = self.compression_type, self.magic
        if codec > self.CODEC_LZ4 or value is None:
            raise CorruptBatch(f"a message set of format {magic} with compression code {codec}")
        packed = _with_right_checksum(value) if codec == self.CODEC_LZ4 and not magic else value
        data = decompress(codec, packed)
        _require_messages(memoryview(data), magic)
        return data


def _require_messages(data: memoryview, magic: int) -> None:
    """Raise CorruptBatch unless ``data`` is complete messages of one format, none of them a set."""
    if not data:
        raise CorruptBatch("an empty set")
    position = 0
    while position < len(data):
        rest = len(data) - position
        size = _PREFIX + _LENGTH.unpack_from(data, position + 8)[0] if rest >= SMALLEST else 0
        if not SMALLEST <= size <= rest:
            raise CorruptBatch(f"a message of {size} bytes in a set that has {rest} left")
        its, attributes = data[position + MAGIC_AT], data[position + MAGIC_AT + 1]
        if its != magic or attributes & LegacyRecordBatch.CODEC_MASK:
            raise CorruptBatch(f"format {its}, attributes {attributes}, in a set of format {magic}")
        _require_filled(data[position : position + size], magic)
        position += size


def _require_filled(message: memoryview, magic: int) -> None:
    """Raise CorruptBatch unless the lengths of key and value fill their message."""
    position = LegacyRecordBatch.KEY_OFFSET_V1 if magic else LegacyRecordBatch.KEY_OFFSET_V0
    for _ in ("key", "value"):
        (size,) = _LENGTH.unpack_from(message, position)
        position += _LENGTH.size
        if size == -1:
            continue
        if not 0 <= size <= len(message) - position:
            raise CorruptBatch(f"{size} bytes where {len(message) - position} are left")
        position += size
    if position != len(message):
        raise CorruptBatch(f"a message of {position} bytes in {len(message)}")


def _require_rising(offsets: Sequence[int], last: int) -> None:
    """Raise CorruptBatch unless the offsets of a set rise from 0 or more to ``last``."""
    for before, offset in pairwise((-1, *offsets)):
        if offset <= before:
            raise CorruptBatch(f"a message at {offset} after {before}")
    if offsets[-1] != last:
        raise CorruptBatch(f"a set that ends at {offsets[-1]}, not at {last}")


def _packed(records: Sequence[LegacyRecord]) -> memoryview:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=sys.maxsize,
    )
    first = records[0].offset
    for record in records:
        timestamp = NO_TIMESTAMP if record.timestamp is None else record.timestamp
        builder.append(record.offset - first, timestamp, record.key, record.value, ())
    batch = builder.build()
    _BASE.pack_into(batch, 0, first)  # no checksum covers it
    return memoryview(batch)


def _with_right_checksum(frame: bytes) -> bytes:
    """Return an lz4 frame of format 0 with a correct header checksum (KAFKA-3160).

    In format 0 that checksum covers too many bytes. kafka-python's fix needs a package for xxHash;
    here lz4 rewrites the header.
    """
    flags, block_size = frame[_FLAGS_AT], frame[_FLAGS_AT + 1] >> 4
    header: bytes = lz4.frame.compress_begin(
        lz4.frame.create_compression_context(),
        source_size=int.from_bytes(frame[6:14], "little") if flags & _CONTENT_SIZE else 0,
        block_size=block_size,
        block_linked=not flags & _INDEPENDENT,
        block_checksum=bool(flags & _BLOCK_CHECKSUM),
        content_checksum=bool(flags & _CONTENT_CHECKSUM),
    )
    if header[:-1] != frame[: len(header) - 1]:
        raise CorruptBatch(f"an lz4 frame that begins with {frame[:6].hex()}")
    return header + frame[len(header) :]
