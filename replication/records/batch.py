"""Record batches, format 2 (KIP-98), as bytes: iterate, validate, restamp. Pure, without copying.

A batch that can be copied as bytes is not decoded: its header is read, the producer's fields are
replaced in place, and the checksum is recomputed. ``replication.records.codec`` decodes the rest.
Messages of older brokers, in formats 0 and 1, are converted to format 2 while iterating.

    offset  size  field                    offset  size  field
         0     8  base offset                  27     8  base timestamp
         8     4  length after this field      35     8  max timestamp
        12     4  partition leader epoch       43     8  producer id
        16     1  magic                        51     2  producer epoch
        17     4  CRC-32C of all from 21       53     4  base sequence
        21     2  attributes                   57     4  record count
        23     4  last offset delta            61        records, compressed as a whole
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol

from crc32c import crc32c

from replication.errors import CorruptBatch
from replication.model import NO_LEADER_EPOCH, NO_PRODUCER_ID
from replication.records.compression import CODEC_MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size  # 61
SMALLEST = 26  # bytes of a message of format 0 with neither key nor value: less is in no format
MAGIC_AT = 16  # in every format
NO_TIMESTAMP = -1  # format 0 has none; readers of format 2 understand the number in the same way
_MAGIC = 2
_LEGACY_ATTRIBUTES_AT = 17  # in formats 0 and 1
_PREFIX = 12  # base offset and length; the length counts from here
_CRC_START = 21
_BASE = struct.Struct(">q")
_BASE_AND_LENGTH = struct.Struct(">qi")
_LEADER_EPOCH = struct.Struct(">i")
_LENGTH = struct.Struct(">i")
_PRODUCER_ID = struct.Struct(">q")
_PRODUCER_AT = 43
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_WRITER = struct.Struct(">qhi")  # producer id, epoch, base sequence

LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
OLD_FORMAT = 1 << 16  # beyond the field's 16 bits: ``walk`` sets it for formats 0 and 1
ABORT, COMMIT = 0, 1  # types of a marker
SEQUENCE_MODULUS = 1 << 31  # sequences run from 0 to 2^31 - 1 and wrap


class Batch(NamedTuple):
    """One batch, not copied. ``view`` covers all of it, header included.

    A message of format 0 or 1 is a batch without a producer, and so is a compressed set of them:
    ``view`` covers their uncompressed form in format 2, ``attributes`` has their codec.
    """

    view: memoryview
    base: int  # offset of its first record, even when compaction removed it
    last: int  # offset of its last record, even when compaction removed it
    count: int  # type: ignore[assignment]  # records that are in it, not tuple's method
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    sequence: int

    @property
    def is_control(self) -> bool:
        """A transaction marker: no data."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def leader_epoch(self) -> int:
        """Epoch of the leader that appended it; -1: unknown. A restamp erases it."""
        if self.attributes & OLD_FORMAT:
            return -1
        return int(_LEADER_EPOCH.unpack_from(self.view, _PREFIX)[0])

    @property
    def passes_as_bytes(self) -> bool:
        """Whether a restamp is enough: format 2, no holes, own timestamps, no delete horizon."""
        return (
            not self.attributes & (LOG_APPEND_TIME | CONTROL | DELETE_HORIZON | OLD_FORMAT)
            and self.count == self.last - self.base + 1
        )


class LegacyFormats(Protocol):
    """Reads messages of formats 0 and 1."""

    def __call__(self, message: memoryview, /) -> memoryview:
        """Return a message, or the set in it, as a batch of format 2 that is not compressed.

        Keeps offsets, timestamps (or NO_TIMESTAMP), keys and values. Raises CorruptBatch, without
        the offset.
        """
        ...


def refuse_legacy(message: memoryview, /) -> NoReturn:
    """Raise CorruptBatch: Isthmus' own batches have no legacy format."""
    raise CorruptBatch(f"message format {message[MAGIC_AT]}, which Isthmus does not know")


def walk(
    records: memoryview,
    where: object = "record batches",
    legacy: LegacyFormats = refuse_legacy,
    start: int | None = None,
) -> Iterator[Batch]:
    """Yield the complete batches in ``records``; skip a truncated last one, which Kafka may send.

    ``where`` names the topic-partition in messages. Raises CorruptBatch for an unknown format or a
    wrong checksum: a damaged copy would get a valid checksum from us. The checksum does not cover
    offsets and length: offsets must rise, and the first batch be complete. A batch behind a gap
    must end before the one behind it; ``start``, the offset that was fetched, shows a gap in front
    of the first batch.
    """
    position, end, following = 0, len(records), start
    while position < end:
        whole = end - position >= _PREFIX
        base, length = (
            _BASE_AND_LENGTH.unpack_from(records, position) if whole else (following or 0, end)
        )
        stop = position + _PREFIX + length
        if stop > end and length >= 0:
            if position:
                return
            raise CorruptBatch(
                f"reading {where} at offset {base}: a batch of {length} bytes, only "
                f"{end} are available"
            )
        batch = _batch(records[position:stop], base, length, where, legacy)
        if following is not None and position and batch.base < following:
            raise CorruptBatch(
                f"reading {where} at offset {batch.base}: it follows {following - 1}"
            )
        if following is not None and batch.base > following:
            if end - stop >= _PREFIX:
                _require_end(batch, _BASE.unpack_from(records, stop)[0], where)
            elif position and end > stop:
                return  # the next Fetch begins with it, and shows more
        yield batch
        position, following = stop, batch.last + 1


def incomplete(records: memoryview) -> int | None:
    """Return the offset in the header of the truncated last batch, unchecked; None: there is none.

    By the batches' headers alone.
    """
    position, end = 0, len(records)
    while end - position >= _PREFIX:
        base, length = _BASE_AND_LENGTH.unpack_from(records, position)
        if length < SMALLEST - _PREFIX:
            return None  # damaged: ``walk`` raises CorruptBatch
        position += _PREFIX + length
        if position > end:
            return int(base)
    return None


def producer_ids(records: memoryview) -> set[int]:
    """Return the producer ids of the batches in ``records``, from their headers, unchecked."""
    found: set[int] = set()
    position, end = 0, len(records)
    while position + SMALLEST <= end:
        if records[position + MAGIC_AT] < _MAGIC:
            found.add(NO_PRODUCER_ID)
        elif position + HEADER_SIZE <= end:
            found.add(_PRODUCER_ID.unpack_from(records, position + _PRODUCER_AT)[0])
        length = _LENGTH.unpack_from(records, position + 8)[0]
        if length < SMALLEST - _PREFIX:
            break  # damaged: ``walk`` raises CorruptBatch
        position += _PREFIX + length
    return found


def claimed_ends(records: memoryview, start: int) -> Iterator[int]:
    """Yield where the damaged first batch in ``records`` ends by headers, unchecked.

    First by the header of the batch behind it, then by its own. None where it begins behind
    ``start``: the source passed over something, and its headers say nothing of that.
    """
    if len(records) < HEADER_SIZE:
        return
    base, length, _, magic, _, _, last_delta, *_ = HEADER.unpack_from(records)
    if base > start or length < SMALLEST - _PREFIX:
        return
    if _PREFIX + length + _PREFIX <= len(records):
        yield _BASE.unpack_from(records, _PREFIX + length)[0]
    yield base + 1 + (last_delta if magic == _MAGIC else 0)


def _require_end(batch: Batch, next_base: int, where: object) -> None:
    """Raise CorruptBatch if a batch behind a gap does not end before the one behind it."""
    if next_base <= batch.last:
        raise CorruptBatch(
            f"reading {where} at offset {batch.base}: a batch up to {batch.last} after a gap, and "
            f"the next one begins at {next_base}"
        )


def _batch(view: memoryview, base: int, length: int, where: object, legacy: LegacyFormats) -> Batch:
    """Return the checked batch in ``view``; a CorruptBatch names the offset in its header."""
    try:
        if length >= SMALLEST - _PREFIX and view[MAGIC_AT] < _MAGIC:
            return _read_legacy(view, base, where, legacy)
        return _read(view, base, length, where)
    except CorruptBatch as error:
        error.offset = base
        raise


def _read(view: memoryview, base: int, length: int, where: object) -> Batch:
    if length < HEADER_SIZE - _PREFIX:
        raise CorruptBatch(f"reading {where} at offset {base}: a batch of {length} bytes")
    (_, _, _, magic, crc, attributes, last_delta, base_timestamp, max_timestamp, *writer) = (
        HEADER.unpack_from(view)
    )
    if magic != _MAGIC:
        raise CorruptBatch(
            f"reading {where} at offset {base}: message format {magic}, which is not supported"
        )
    if crc32c(view[_CRC_START:]) != crc:
        raise CorruptBatch(f"reading {where} at offset {base}: the checksum does not match")
    if base < 0:
        raise CorruptBatch(f"reading {where} at offset {base}: no log has a negative offset")
    producer_id, producer_epoch, sequence, count = writer
    if last_delta < 0 or not 0 <= count <= last_delta + 1:
        raise CorruptBatch(
            f"reading {where} at offset {base}: {count} records, last offset delta {last_delta}"
        )
    return Batch(
        view,
        base,
        base + last_delta,
        count,
        attributes,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        sequence,
    )


def _read_legacy(view: memoryview, last: int, where: object, legacy: LegacyFormats) -> Batch:
    """Return a message of format 0 or 1, or a compressed set, with its last message's offset."""
    try:
        converted = legacy(view)
    except CorruptBatch as error:
        raise CorruptBatch(f"reading {where} at offset {last}: {error}") from error
    base, length = _BASE_AND_LENGTH.unpack_from(converted)
    batch = _read(converted, base, length, where)
    codec = view[_LEGACY_ATTRIBUTES_AT] & CODEC_MASK
    return batch._replace(attributes=codec | OLD_FORMAT)


def restamp(
    view: memoryview | bytearray,
    producer_id: int,
    epoch: int,
    sequence: int,
    transactional: int = 0,
) -> None:
    """Replace the producer fields of the batch in ``view``, in place.

    Invariant A. The base offset becomes 0 (a broker rejects compressed batches otherwise:
    INVALID_RECORD), the leader epoch NO_LEADER_EPOCH, the transactional bit becomes
    ``transactional`` (0 or TRANSACTIONAL); records, timestamps and count stay.
    """
    _BASE.pack_into(view, 0, 0)
    _LEADER_EPOCH.pack_into(view, 12, NO_LEADER_EPOCH)
    (attributes,) = _ATTRIBUTES.unpack_from(view, _CRC_START)
    _ATTRIBUTES.pack_into(view, _CRC_START, attributes & ~TRANSACTIONAL | transactional)
    _WRITER.pack_into(view, _PRODUCER_AT, producer_id, epoch, sequence)
    _CRC.pack_into(view, 17, crc32c(memoryview(view)[_CRC_START:]))


def next_sequence(sequence: int, count: int) -> int:
    """Return the base sequence of the batch after one of ``count`` records."""
    return (sequence + count) % SEQUENCE_MODULUS
