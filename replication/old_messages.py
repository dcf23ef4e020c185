"""Messages of formats 0 and 1, which brokers before 0.11 wrote: read, never written. Pure.

A log that was begun long ago may still start with them: brokers hand them out as they lie, those
of 4.x too, which take no new ones. Formats as in Kafka's LegacyRecord.

    offset  size  field
         0     8  offset; of a compressed set that of its last message
         8     4  length after this field
        12     4  CRC-32 of all from 16
        16     1  magic, 0 or 1
        17     1  attributes: the codec, in format 1 also LogAppendTime
        18     8  timestamp in ms, in format 1 alone
                  key and value, each a length (-1: there is none) and its bytes

The value of a compressed message is a set of messages. In format 1 their offsets count from the
set's first one; with LogAppendTime all of them have the time of the set.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from replication.codecs import CODEC_MASK, decompress
from replication.errors import CorruptBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALLEST = 26  # bytes of a whole message: format 0, neither key nor value
MAGIC_AT, ATTRIBUTES_AT = 16, 17
LOG_APPEND_TIME = 0x08
NO_TIMESTAMP = -1  # format 0 has none; readers of format 2 understand the number in the same way
_CRC_AT, _PREFIX = 12, 12
_LZ4, _LAST_CODEC = 3, 3
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_CRC = struct.Struct(">I")
_TIMESTAMP = struct.Struct(">q")
_SIZE = struct.Struct(">i")
_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393  # of xxHash32
_32_BITS = 0xFFFFFFFF


class Message(NamedTuple):
    """One message: ``timestamp`` in ms, or NO_TIMESTAMP."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def messages(view: memoryview) -> list[Message]:
    """Return what is in the message that ``view`` covers: itself, or those of its set, in order.

    Raises CorruptBatch, without a place, for anything that is not whole and right.
    """
    outer, magic, attributes = _read(view)
    codec = attributes & CODEC_MASK
    if not codec:
        return [outer]
    if codec > _LAST_CODEC or outer.value is None:
        raise CorruptBatch(f"a message set of format {magic} with compression code {codec}")
    packed = _with_right_checksum(outer.value) if codec == _LZ4 and magic == 0 else outer.value
    inner = list(_inner(memoryview(decompress(codec, packed)), magic))
    first = outer.offset - inner[-1].offset if magic and inner else 0
    if attributes & LOG_APPEND_TIME:
        inner = [each._replace(timestamp=outer.timestamp) for each in inner]
    found = [each._replace(offset=first + each.offset) for each in inner]
    _require_rising(found, outer.offset)
    return found


def _inner(data: memoryview, magic: int) -> Iterator[Message]:
    position = 0
    while position < len(data):
        rest = len(data) - position
        size = _PREFIX + _SIZE.unpack_from(data, position + 8)[0] if rest >= SMALLEST else 0
        if not SMALLEST <= size <= rest:
            raise CorruptBatch(f"a message of {size} bytes in a set that has {rest} left")
        message, its, attributes = _read(data[position : position + size])
        if its != magic or attributes & CODEC_MASK:
            raise CorruptBatch(f"format {its}, attributes {attributes}, in a set of format {magic}")
        yield message
        position += size


def _read(view: memoryview) -> tuple[Message, int, int]:
    """Return a message as it lies, its format and its attributes."""
    if zlib.crc32(view[MAGIC_AT:]) != _CRC.unpack_from(view, _CRC_AT)[0]:
        raise CorruptBatch("the checksum does not match")
    offset, _ = _OFFSET_AND_LENGTH.unpack_from(view)
    magic, position, timestamp = view[MAGIC_AT], ATTRIBUTES_AT + 1, NO_TIMESTAMP
    attributes = view[ATTRIBUTES_AT] & (CODEC_MASK | LOG_APPEND_TIME if magic else CODEC_MASK)
    try:
        if magic:
            (timestamp,) = _TIMESTAMP.unpack_from(view, position)
            position += _TIMESTAMP.size
        key, position = _sized(view, position)
        value, position = _sized(view, position)
    except struct.error as error:
        raise CorruptBatch(f"a message of {len(view)} bytes: {error}") from error
    if position != len(view):
        raise CorruptBatch(f"a message of {position} bytes in {len(view)}")
    return Message(offset, timestamp, key, value), magic, attributes


def _sized(view: memoryview, position: int) -> tuple[bytes | None, int]:
    (size,) = _SIZE.unpack_from(view, position)
    position += _SIZE.size
    if size == -1:
        return None, position
    if not 0 <= size <= len(view) - position:
        raise CorruptBatch(f"{size} bytes where {len(view) - position} are left")
    return bytes(view[position : position + size]), position + size


def _require_rising(found: list[Message], last: int) -> None:
    """Raise CorruptBatch unless the offsets of a set rise from 0 or more to ``last``."""
    before = -1
    for each in found:
        if each.offset <= before:
            raise CorruptBatch(f"a message at {each.offset} after {before}")
        before = each.offset
    if before != last:
        raise CorruptBatch(f"a set that ends at {before}, not at {last}")


def _with_right_checksum(frame: bytes) -> bytes:
    """Return an lz4 frame of format 0 as it should be: its header checksum covers too much.

    KAFKA-3160. The descriptor is two bytes, and eight more when it says how long the content is.
    """
    if len(frame) < 7:  # magic, descriptor, checksum
        raise CorruptBatch(f"an lz4 frame of {len(frame)} bytes")
    end = 14 if frame[4] & 0x08 else 6
    checksum = xxh32(frame[4:end]) >> 8 & 0xFF
    return frame[:end] + bytes([checksum]) + frame[end + 1 :]


def xxh32(data: bytes) -> int:
    """Return xxHash32 with seed 0 of less than 16 bytes."""
    found, words = (_P5 + len(data)) & _32_BITS, len(data) // 4
    for word in struct.unpack(f"<{words}I", data[: 4 * words]):
        found = _rotated(found + word * _P3, 17) * _P4 & _32_BITS
    for byte in data[4 * words :]:
        found = _rotated(found + byte * _P5, 11) * _P1 & _32_BITS
    found = (found ^ found >> 15) * _P2 & _32_BITS
    found = (found ^ found >> 13) * _P3 & _32_BITS
    return found ^ found >> 16


def _rotated(number: int, bits: int) -> int:
    number &= _32_BITS
    return number << bits & _32_BITS | number >> 32 - bits
