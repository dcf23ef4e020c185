"""Record batches encoded by kafka-python, independent of our encoder."""

from __future__ import annotations

import struct

from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder

from replication.records.batch import ABORT, CONTROL

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


def _at(base: int, batch: bytearray) -> bytearray:
    struct.pack_into(">q", batch, 0, base)  # the checksum does not cover it
    return batch
