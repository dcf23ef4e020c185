"""Finds a batch in a log by the content of its records, where offsets do not help. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from replication.records.batch import LOG_APPEND_TIME
from replication.records.codec import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.records.batch import Batch
    from replication.records.codec import BatchRecord


class Match(NamedTuple):
    """An occurrence of the run: the offset after it, and how many records were searched."""

    end: int
    seen: int


class SearchedBatch:
    """A run of records without a gap, from one batch of a target.

    The copier may have split, merged or recompressed batches, so records are compared: by
    timestamp and the bytes of key, value and headers. If the target uses LogAppendTime, only the
    bytes are compared.
    """

    def __init__(self, batch: Batch, where: object) -> None:
        self._timed = not batch.attributes & LOG_APPEND_TIME
        self._run = [self._key(each) for each in decode(batch, where)]
        self._back = _borders(self._run)
        self._fits = 0  # length of the run's prefix that equals the last records
        self.seen = 0
        self.found: list[Match] = []

    def add(self, records: Sequence[BatchRecord], offsets: Sequence[int]) -> None:
        """Search the next records of a log, in order, with their offsets."""
        for record, offset in zip(records, offsets, strict=True):
            self.seen += 1
            key = self._key(record)
            while self._fits and (self._fits == len(self._run) or self._run[self._fits] != key):
                self._fits = self._back[self._fits - 1]
            self._fits += self._run[self._fits] == key
            if self._fits == len(self._run):
                self.found.append(Match(offset + 1, self.seen))

    def _key(self, record: BatchRecord) -> tuple[int, bytes]:
        return record.timestamp if self._timed else 0, record.rest


def ends_with(copied: Batch, record: BatchRecord, where: object) -> bool:
    """Say whether ``record`` is the last one of ``copied``, a batch of the target.

    Compared as by ``SearchedBatch``.
    """
    last = decode(copied, where)[-1]
    timed = not copied.attributes & LOG_APPEND_TIME
    return last.rest == record.rest and (not timed or last.timestamp == record.timestamp)


def _borders(run: Sequence[object]) -> list[int]:
    """Return for each beginning of ``run`` how long its longest border is (Knuth-Morris-Pratt)."""
    borders, length = [0], 0
    for each in run[1:]:
        while length and run[length] != each:
            length = borders[length - 1]
        length += run[length] == each
        borders.append(length)
    return borders
