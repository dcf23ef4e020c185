"""Compares two logs batch by batch, up to the first record that differs. Pure.

Most batches of a copy have the bytes of their originals: they are equal without being decoded.
Others, which were split, merged or compressed in another way, are decoded and compared record by
record, in order. Bytes are compared, not checksums: an answer is never wrong by chance.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.records.batch import (
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    OLD_FORMAT,
    Batch,
)
from replication.records.codec import decode, headers_of, key_and_value
from replication.records.compression import CODEC_MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from replication.records.codec import BatchRecord

    Keeps = Callable[[BatchRecord], bool]

MARK_EVERY = 100_000  # records between two places that are remembered


class CountedBatch(NamedTuple):
    """A batch of which the records in [first, after) count."""

    batch: Batch
    first: int
    after: int

    @property
    def is_whole(self) -> bool:
        """Whether all records of the batch count."""
        return self.first <= self.batch.base and self.after > self.batch.last


class OffsetPair(NamedTuple):
    """Offsets that belong together: all records before them agree."""

    source: int
    target: int


@dataclass(slots=True)
class ComparedLog:
    """One of the two logs: its next batch, or what is left of the records in it.

    ``keeps``: which records count; None: all. ``where`` names the partition in messages.
    """

    where: object = "record batch"
    keeps: Keeps | None = None
    ended: bool = False
    bytes: int = 0
    retimed: bool = False  # a broker put its own time on the records in hand
    _batch: CountedBatch | None = None
    _records: deque[BatchRecord] = field(default_factory=deque)

    @property
    def wants_more(self) -> bool:
        """Whether nothing is left of what it was given, and more may come."""
        return not self.ended and self._batch is None and not self._records

    @property
    def batch(self) -> CountedBatch | None:
        """The batch in hand, if it is not decoded."""
        return self._batch

    def give(self, batch: CountedBatch | None) -> None:
        """Hand over the next batch; None: the log ends."""
        self._batch, self.ended = batch, batch is None
        if batch is not None:
            self.bytes += len(batch.batch.view)

    def pass_batch(self) -> None:
        """Go on behind the batch in hand."""
        self._batch = None

    def records(self) -> deque[BatchRecord]:
        """Return the records in hand, which the caller takes from its left."""
        if self._batch is not None:
            batch, first, after = self._batch
            self.retimed = bool(batch.attributes & LOG_APPEND_TIME)
            self._records.extend(
                each
                for each in decode(batch, self.where)
                if first <= each.offset < after and (self.keeps is None or self.keeps(each))
            )
            self._batch = None
        return self._records


@dataclass(slots=True)
class BatchComparison:
    """One comparison in progress: give both logs what they want, then ``advance``.

    ``left_out`` are names of headers that only a copy has.
    """

    source: ComparedLog
    target: ComparedLog
    left_out: Collection[str] = ()
    records: int = 0  # that agree
    differs: bool = False
    _marks: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=2))

    @property
    def done(self) -> bool:
        return self.differs or (
            self.source.ended
            and self.target.ended
            and not self.source.records()
            and not self.target.records()
        )

    @property
    def mark(self) -> tuple[int, int, int] | None:
        """A place at least MARK_EVERY records before the first difference; None: there is none.

        As source offset, target offset and how many records are before it.
        """
        return self._marks[0] if len(self._marks) == self._marks.maxlen else None

    def advance(self) -> None:
        """Compare what both logs have in hand."""
        here, there = self.source.batch, self.target.batch
        if here and there and self._are_equal(here, there):
            self.source.pass_batch()
            self.target.pass_batch()
            self._agree(here.batch.count, OffsetPair(here.after, there.after))
            return
        ours, theirs = self.source.records(), self.target.records()
        while ours and theirs and not self.differs:
            if self._is_copy(ours[0], theirs[0]):
                place = OffsetPair(ours.popleft().offset + 1, theirs.popleft().offset + 1)
                self._agree(1, place)
            else:
                self.differs = True
        if (ours and self.target.ended) or (theirs and self.source.ended):
            self.differs = True

    def _agree(self, records: int, place: OffsetPair) -> None:
        before = self.records
        self.records += records
        if before // MARK_EVERY != self.records // MARK_EVERY:
            self._marks.append((*place, self.records))

    def _are_equal(self, here: CountedBatch, there: CountedBatch) -> bool:
        """Say whether two batches hold the same bytes; False: their records may be equal."""
        if self.source.keeps or self.target.keeps or not (here.is_whole and there.is_whole):
            return False
        one, two = here.batch, there.batch
        unusual = LOG_APPEND_TIME | DELETE_HORIZON | OLD_FORMAT
        return (
            one.count == two.count
            and not one.attributes & unusual
            and not two.attributes & (DELETE_HORIZON | OLD_FORMAT)
            and one.attributes & CODEC_MASK == two.attributes & CODEC_MASK
            and (one.base_timestamp == two.base_timestamp or bool(two.attributes & LOG_APPEND_TIME))
            # As bytes: two memoryviews are compared element by element, many times slower.
            and bytes(one.view[HEADER_SIZE:]) == bytes(two.view[HEADER_SIZE:])
        )

    def _is_copy(self, one: BatchRecord, two: BatchRecord) -> bool:
        if one.timestamp != two.timestamp and not self.target.retimed:
            return False
        return one.rest == two.rest or self._content(one) == self._content(two)

    def _content(self, record: BatchRecord) -> object:
        headers = [each for each in headers_of(record) if each[0] not in self.left_out]
        return key_and_value(record), headers
