"""Compares partitions of which either side is compacted: by key, not record by record. Pure.

Compaction removes a record once a later one has its key, at any time and on each side for itself.
So only the last record of each key has to be the same. What else is left must stand in the source's
order, as far as the source still has it. A tombstone goes too, some time after it was written.

Memory grows with the number of records that are left, about 300 bytes each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.records.comparison_result import (
    Comparison,
    DifferenceKind,
    Example,
    Limits,
    NoCounterpart,
)
from replication.records.keyed_log import KeyedLog, Pairing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from replication.records.comparison_result import PartitionFacts
    from replication.records.keyed_log import Keyed


@dataclass(frozen=True, slots=True)
class Compacted:
    """Which sides are compacted (``cleanup.policy``)."""

    source: bool = True
    target: bool = True

    def __bool__(self) -> bool:
        return self.source or self.target


def compare_compacted(
    source: Iterable[Keyed],
    target: Iterable[Keyed],
    known: PartitionFacts,
    compacted: Compacted,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Comparison:
    """Compare two streams of one partition by key."""
    here, there = KeyedLog.of(source), KeyedLog.of(target)
    return _ByKey((here, there), known, compacted, limits).run()


class _ByKey:
    """One comparison in progress."""

    def __init__(
        self,
        logs: tuple[KeyedLog, KeyedLog],
        known: PartitionFacts,
        compacted: Compacted,
        limits: Limits,
    ) -> None:
        source, target = self._source, self._target = logs
        self._known, self._compacted, self._limits = known, compacted, limits
        self._source_front = source.front(target) if known.target_deleted else 0
        self._target_front = target.front(source) if known.source_deleted else 0
        self._pairing = Pairing(source)
        self._in_flight: dict[int, Collection[int]] = {}  # of contents that come again
        self._result = Comparison()

    def run(self) -> Comparison:
        self._result.source_records = len(self._source.records)
        self._result.target_records = len(self._target.records)
        self._judge_copies()
        for each in self._target.records:
            if each.digest not in self._source.places:
                self._judge_additional(each)
        for each in self._source.records:
            if not self._pairing.is_copied(each):
                self._judge_missing(each)
        return self._result

    def _judge_copies(self) -> None:
        """Judge what both sides have: whether it is there again, and whether it is in order."""
        again = {
            digest: len(offsets) - len(self._source.offsets(digest))
            for digest, offsets in self._target.again.items()
            if digest in self._source.places
        }
        found: list[tuple[DifferenceKind, int | None, int]] = []
        for each in reversed(self._target.records):
            if each.digest not in self._source.places:
                continue
            if again.get(each.digest, 0) > 0 and not self._forgets_equals:
                again[each.digest] -= 1
                found.append((DifferenceKind.REPEATED, None, each.offset))
            elif self._pairing.place(each.digest, in_order=True) is not None:
                self._result.equal += 1
            elif self._forgets_equals and self._may_be_followed(each):
                is_compacted = self._compacted.source
                why = (
                    NoCounterpart.COMPACTED_ON_SOURCE
                    if is_compacted
                    else NoCounterpart.DELETED_ON_SOURCE
                )
                self._result.no_counterpart[why] += 1
            else:
                self._result.equal += 1
                place = self._pairing.place(each.digest, in_order=False)
                found.append((DifferenceKind.OUT_OF_ORDER, place, each.offset))
        for finding in reversed(found):
            self._note(*finding)

    @property
    def _forgets_equals(self) -> bool:
        """Whether the source may have had more equal records than it has.

        Only where timestamps are not compared: else equal records are a rarity.
        """
        deletes = self._compacted.source or self._known.source_deleted > 0
        return deletes and not self._known.timed

    def _may_be_followed(self, record: Keyed) -> bool:
        """Say whether the source may have a later record of a target record's key."""
        following = self._source.last.get(record.key)
        is_last = record is self._target.last[record.key]
        return not is_last or (
            following is not None and self._known.may_be_in_flight(following.offset)
        )

    def _judge_additional(self, record: Keyed) -> None:
        """Judge a record that the source does not have."""
        if record is self._target.last[record.key] and self._is_altered(record.key):
            return  # noted with the record that it stands for
        if self._compacted.source and self._is_replaced_on_source(record):
            self._result.no_counterpart[NoCounterpart.COMPACTED_ON_SOURCE] += 1
        elif record.offset < self._target_front:
            self._result.no_counterpart[NoCounterpart.DELETED_ON_SOURCE] += 1
        else:
            self._note(DifferenceKind.EXTRA, None, record.offset)

    def _is_replaced_on_source(self, record: Keyed) -> bool:
        """Say whether the source may have dropped it: by a later record, or as an old tombstone."""
        following = self._source.last.get(record.key)
        if record is not self._target.last[record.key]:
            return True
        if following is None:
            return record.tombstone
        if self._known.timed:
            return self._is_in_flight(following)
        return self._may_be_followed(record)  # by one that looks copied: an equal one was

    def _judge_missing(self, record: Keyed) -> None:
        """Judge a record that the target does not have."""
        if self._is_in_flight(record):
            self._result.source_records -= 1
            self._result.no_counterpart[NoCounterpart.IN_FLIGHT] += 1
        elif record is self._source.last[record.key] and self._is_altered(record.key):
            self._note(
                DifferenceKind.DIFFERENT, record.offset, self._target.last[record.key].offset
            )
        elif self._compacted.target and self._is_replaced_on_target(record):
            self._result.no_counterpart[NoCounterpart.COMPACTED_ON_TARGET] += 1
        elif self._may_be_deleted_on_target(record):
            self._result.no_counterpart[NoCounterpart.DELETED_ON_TARGET] += 1
        else:
            self._note(DifferenceKind.LOST, record.offset, None)

    def _is_replaced_on_target(self, record: Keyed) -> bool:
        """Say whether the target may have dropped it: by a later record, or as an old tombstone."""
        following, theirs = self._source.last[record.key], self._target.last.get(record.key)
        if record is following:
            if theirs is None:
                return record.tombstone
            return theirs.digest == record.digest  # an equal one before it is the one that is gone
        if not self._is_in_flight(following):
            return True
        return theirs is not None and self._source.places.get(theirs.digest, -1) > record.offset

    def _may_be_deleted_on_target(self, record: Keyed) -> bool:
        """Say whether retention may have deleted its copy, or that of an equal record before it."""
        is_equal = bool(self._known.target_deleted) and record.digest in self._target.places
        return is_equal or record.offset < self._source_front

    def _is_altered(self, key: int) -> bool:
        """Say whether the last records of a key are each unknown to the other side."""
        ours, theirs = self._source.last.get(key), self._target.last.get(key)
        if ours is None or theirs is None or self._is_in_flight(ours):
            return False
        return ours.digest not in self._target.places and theirs.digest not in self._source.places

    def _is_in_flight(self, record: Keyed) -> bool:
        if self._pairing.is_copied(record):
            return False
        if record.digest not in self._source.again:
            return self._known.may_be_in_flight(record.offset)
        return record.offset in self._flying(record.digest)

    def _flying(self, digest: int) -> Collection[int]:
        """Return the offsets of equal records that may be in flight: which ones cannot be told."""
        if digest not in self._in_flight:
            may_be = map(self._known.may_be_in_flight, self._source.offsets(digest))
            left, count = self._pairing.without_copy(digest), sum(may_be)
            self._in_flight[digest] = frozenset(left[max(0, len(left) - count) :])
        return self._in_flight[digest]

    def _note(self, kind: DifferenceKind, source: int | None, target: int | None) -> None:
        self._result.note(kind, Example(source, target), self._limits)
