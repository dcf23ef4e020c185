"""A batch to produce: merging small queued batches, splitting rejected ones. No I/O."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from replication.errors import CorruptBatch
from replication.model import NO_LEADER_EPOCH, NO_SEQUENCE
from replication.provenance.origins import LOCAL_ORIGIN
from replication.records.batch import walk
from replication.records.codec import coalesce, split
from replication.records.compression import CODEC_MASK

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Sequence

    from replication.client.fetch_values import FetchBuffer
    from replication.model import TopicPartition
    from replication.provenance.origins import ReplicationPath

_SMALL = 4 << 10  # bytes of a batch that is worth merging with its neighbours
_MOST_MERGED = 64  # small batches that become one
_CODEC_AT = 22  # the low byte of a batch's attributes


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """One batch to append. Once stamped its bytes do not change: a retry sends the same bytes."""

    batch: memoryview
    after: int  # source offset after it and after the undeliverable offsets behind it
    timestamp: int  # ms, of its latest record
    buffer: FetchBuffer | None  # held until this batch is acknowledged; None: released
    offsets: Sequence[int]  # source offsets of its records
    merged: bool = False  # from several batches of the source
    split: bool = False  # part of a batch of the source: it cannot be fetched again alone
    stamped: bool = False
    sequence: int = NO_SEQUENCE  # as stamped
    rejected: bool = False  # the target rejected it and did not append it
    in_doubt: bool = False  # an attempt ended without saying whether the target appended it
    epoch_before: int = NO_LEADER_EPOCH  # source leader epoch of the batch before ``before``
    epoch_after: int = NO_LEADER_EPOCH  # and of the batch before ``after``
    path: ReplicationPath = LOCAL_ORIGIN  # the producer of this path appends it
    base: int | None = None  # target offset of its first record, once acked
    fetched_ms: int = 0  # when the source sent it, by our clock

    @property
    def count(self) -> int:
        return len(self.offsets)

    @property
    def is_known(self) -> bool:
        """Whether it is known that the target has not appended it, of all attempts."""
        return not self.stamped or (self.rejected and not self.in_doubt)

    @property
    def before(self) -> int:
        """Source offset of its first record: a refetch begins there."""
        return self.offsets[0]

    def release_buffer(self) -> None:
        """Release the fetch buffer; the bytes are not needed any more."""
        if self.buffer is not None:
            self.buffer.release()
            self.buffer = None

    def keep_own_bytes(self) -> None:
        """Copy the bytes out of the fetch buffer, so that a long retry does not hold it."""
        if self.buffer is not None:
            self.batch = memoryview(bytearray(self.batch))
            self.release_buffer()


def merge_small(waiting: deque[ProducerBatch], where: TopicPartition) -> None:
    """Merge the small batches at the front: a request carries one batch per partition.

    Only several queued batches are merged; a single batch is not delayed or changed.
    """
    if len(waiting) < 2:
        return
    small, path = list(takewhile(_is_small, waiting)), waiting[0].path
    codecs = [producer_batch.batch[_CODEC_AT] & CODEC_MASK for producer_batch in small]
    alike = zip(codecs, (producer_batch.path for producer_batch in small), strict=True)
    small = small[: next((n for n, each in enumerate(alike) if each != (codecs[0], path)), None)]
    small = small[:_MOST_MERGED]
    if len(small) < 2:
        return
    batches = [next(walk(producer_batch.batch, where)) for producer_batch in small]
    try:
        together = coalesce(batches, where)
    except CorruptBatch:  # corrupt before its checksum was computed: let the target validate it
        return
    merged = ProducerBatch(
        memoryview(together),
        small[-1].after,
        max(producer_batch.timestamp for producer_batch in small),
        small[-1].buffer,  # its memory is not used: holding it keeps read-ahead bounded
        tuple(offset for producer_batch in small for offset in producer_batch.offsets),
        merged=True,
        epoch_before=small[0].epoch_before,
        epoch_after=small[-1].epoch_after,
        path=path,
        fetched_ms=small[-1].fetched_ms,
    )
    small.pop().buffer = None
    for producer_batch in (waiting.popleft() for _ in batches):
        producer_batch.release_buffer()
    waiting.appendleft(merged)


def first_part(
    producer_batch: ProducerBatch, most: int, waiting: deque[ProducerBatch], where: TopicPartition
) -> ProducerBatch:
    """Return a first part of at most ``most`` bytes, or one record; ``waiting`` gets the rest.

    A batch whose records cannot be read stays whole, for the target to reject it.
    """
    with contextlib.suppress(CorruptBatch):
        while len(producer_batch.batch) > most and producer_batch.count > 1:
            producer_batch, rest = halves(producer_batch, where)
            waiting.appendleft(rest)
    return producer_batch


def halves(
    producer_batch: ProducerBatch, where: TopicPartition
) -> tuple[ProducerBatch, ProducerBatch]:
    """Split a batch of several records in two; do not use ``producer_batch`` afterwards."""
    one, other = split(next(walk(producer_batch.batch, where)), where)
    half, buffer = len(producer_batch.offsets) // 2, producer_batch.buffer
    producer_batch.buffer = None  # the second half holds it, so that read-ahead stays bounded
    first, second = producer_batch.offsets[:half], producer_batch.offsets[half:]
    first_half = ProducerBatch(
        memoryview(one), second[0], producer_batch.timestamp, None, first, split=True
    )
    second_half = ProducerBatch(
        memoryview(other),
        producer_batch.after,
        producer_batch.timestamp,
        buffer,
        second,
        split=True,
    )
    first_half.epoch_before = producer_batch.epoch_before
    first_half.epoch_after = second_half.epoch_before = second_half.epoch_after = (
        producer_batch.epoch_after
    )
    first_half.path = second_half.path = producer_batch.path
    first_half.fetched_ms = second_half.fetched_ms = producer_batch.fetched_ms
    return first_half, second_half


def _is_small(producer_batch: ProducerBatch) -> bool:
    ready = not producer_batch.stamped and not producer_batch.merged and not producer_batch.split
    return ready and len(producer_batch.batch) <= _SMALL
