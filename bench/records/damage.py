"""Damages the log of a stopped broker: batches are rewritten with other records in them."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from replication.records.batch import HEADER_SIZE, TRANSACTIONAL, Batch, restamp, walk
from replication.records.codec import decode, encode, headers_of, key_and_value, plain_record
from replication.records.compression import CODEC_MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from replication.records.codec import BatchRecord

    Change = Callable[[list[BatchRecord], int], list[BatchRecord]]  # of a batch; the place in it


def flip(records: list[BatchRecord], at: int) -> list[BatchRecord]:
    """Change one bit of a record's value."""
    key, value = key_and_value(records[at])
    other = bytearray(value or b"\0")
    other[len(other) // 2] ^= 1
    headers = headers_of(records[at])
    return _with(records, at, plain_record(records[at].timestamp, key, bytes(other), headers))


def swap(records: list[BatchRecord], at: int) -> list[BatchRecord]:
    """Swap a record and the one behind it."""
    return [*records[:at], records[at + 1], records[at], *records[at + 2 :]]


def remove(records: list[BatchRecord], at: int) -> list[BatchRecord]:
    """Remove a record; those behind it move up."""
    return [*records[:at], *records[at + 1 :]]


def double(records: list[BatchRecord], at: int) -> list[BatchRecord]:
    """Repeat a record; those behind it move down."""
    return [*records[: at + 1], *records[at:]]


def delay(records: list[BatchRecord], at: int) -> list[BatchRecord]:
    """Make a record's timestamp a millisecond later."""
    return _with(records, at, replace(records[at], timestamp=records[at].timestamp + 1))


def strip(records: list[BatchRecord], at: int) -> list[BatchRecord]:
    """Remove a record's headers."""
    key, value = key_and_value(records[at])
    return _with(records, at, plain_record(records[at].timestamp, key, value))


def damage(partition: Path, changes: Mapping[int, Change]) -> None:
    """Rewrite the only segment in a partition's directory, with the records at offsets changed.

    The indexes and the state of producers are removed: the broker makes them anew.
    """
    (log,) = partition.glob("*.log")
    whole = memoryview(log.read_bytes())
    with log.with_suffix(".new").open("wb") as file:
        for each in _changed(whole, dict(changes)):
            file.write(each)
    log.with_suffix(".new").replace(log)
    for kind in ("*.index", "*.timeindex", "*.snapshot"):
        for each in partition.glob(kind):
            each.unlink()


def _changed(whole: memoryview, changes: dict[int, Change]) -> Iterator[bytearray]:
    shift = 0
    for batch in walk(whole):
        inside = [each for each in changes if batch.base <= each <= batch.last]
        found, more = bytearray(batch.view), 0
        for offset in inside:
            found = _rewritten(batch, changes.pop(offset), offset - batch.base)
            more = struct.unpack_from(">i", found, HEADER_SIZE - 4)[0] - batch.count
        struct.pack_into(">qi", found, 0, batch.base + shift, len(found) - 12)
        struct.pack_into(">i", found, 12, batch.leader_epoch)
        yield found
        shift += more
    if changes:
        raise ValueError(f"the log has no offsets {sorted(changes)}")


def _rewritten(batch: Batch, change: Change, at: int) -> bytearray:
    if batch.is_control or not at < batch.count - 1:
        raise ValueError(f"the batch at {batch.base} has no record {at}, and one behind it")
    found = encode(change(decode(batch), at), batch.attributes & CODEC_MASK)
    kind = TRANSACTIONAL if batch.is_transactional else 0
    restamp(found, batch.producer_id, batch.producer_epoch, batch.sequence, kind)
    return found


def _with(records: list[BatchRecord], at: int, record: BatchRecord) -> list[BatchRecord]:
    return [*records[:at], record, *records[at + 1 :]]
