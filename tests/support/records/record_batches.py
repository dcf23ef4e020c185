"""Record batches encoded by kafka-python, independent of our encoder."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder

from replication.records.batch import ABORT, CONTROL, walk
from replication.records.codec import decode, key_and_value

if TYPE_CHECKING:
    from collections.abc import Collection

PLAIN, GZIP = 0, 1


def a_batch(
    base: int,
    values: list[bytes],
    producer: tuple[int, int, int] = (-1, -1, -1),
    *,
    codec: int = PLAIN,
    transactional: bool = False,
    timestamp: int = 1000,
) -> bytes:
    """Return a batch of ``values`` as it stands in a log from offset ``base`` on."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, *producer, 1 << 20)
    for number, value in enumerate(values):
        builder.append(number, timestamp + number, b"k", value, [("h", b"x")])
    return bytes(_at(base, builder.build()))


def unpackable(base: int, count: int) -> bytes:
    """Return a batch with a right checksum whose records claim to be compressed, and are not."""
    batch = bytearray(a_batch(base, [b"%d" % each for each in range(count)]))
    batch[22] |= GZIP
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


def a_marker(base: int, producer_id: int, epoch: int, kind: int = ABORT) -> bytes:
    """Return a control batch at ``base``."""
    builder = DefaultRecordBatchBuilder(2, PLAIN, True, producer_id, epoch, 0, 1 << 10)  # noqa: FBT003 -- not our signature
    builder.append(0, 1000, struct.pack(">hh", 0, kind), b"marker", [])
    batch = _at(base, builder.build())
    (attributes,) = struct.unpack_from(">h", batch, 21)
    struct.pack_into(">h", batch, 21, attributes | CONTROL)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


def compacted(batch: bytes, removed: Collection[int]) -> bytes:
    """Return ``batch`` without the records at these offsets; empty if none is left.

    It keeps its base and its last offset, as batches that the log cleaner wrote.
    """
    (found,) = walk(memoryview(batch))
    if found.is_control:
        return b"" if found.base in removed else batch
    listed = [each for each in decode(found) if each.offset not in removed]
    if len(listed) == found.count:
        return batch
    if not listed:
        return b""
    producer = found.producer_id, found.producer_epoch, found.sequence
    builder = DefaultRecordBatchBuilder(2, PLAIN, found.is_transactional, *producer, 1 << 20)
    for each in listed:
        key, value = key_and_value(each)
        builder.append(each.offset - found.base, each.timestamp, key, value, [("h", b"x")])
    made = _at(found.base, builder.build())
    struct.pack_into(">i", made, 23, found.last - found.base)
    struct.pack_into(">I", made, 17, crc32c(bytes(made[21:])))
    return bytes(made)


def _at(base: int, batch: bytearray) -> bytearray:
    struct.pack_into(">q", batch, 0, base)  # the checksum does not cover it
    return batch
