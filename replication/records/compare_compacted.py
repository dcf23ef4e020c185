"""Compares partitions of which either side is compacted: by key, not record by record. Pure.

Compaction removes a record once a later one has its key, at any time and on each side for itself.
So only the last record of each key has to be the same. What else is left must stand in the source's
order, as far as the source still has it. A tombstone goes too, some time after it was written.

Memory grows with the number of records that are left, about 300 bytes each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.records.comparison_result import Apart, Comparison, Example, Kind, Limits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.records.comparison_result import Known


class Keyed(NamedTuple):
    """A record's offset, the fingerprints of its key and its content; tombstone: it has no value.

    A record without a key replaces no other; give it one that no other record has.
    """

    offset: int
    key: int
    digest: int
    tombstone: bool = False


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
    known: Known,
    compacted: Compacted,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Comparison:
    """Compare two streams of one partition by key."""
    here, there = _Log.of(source), _Log.of(target)
    return _ByKey((here, there), known, compacted, limits).run()


@dataclass(slots=True)
class _Log:
    """All records of one side, in order."""

    records: list[Keyed] = field(default_factory=list)
    last: dict[int, Keyed] = field(default_factory=dict)  # of each key
    places: dict[int, int] = field(default_factory=dict)  # offset of each content, the last one
    again: Counter[int] = field(default_factory=Counter)  # of contents that come more than once

    @classmethod
    def of(cls, stream: Iterable[Keyed]) -> _Log:
        log = cls()
        for each in stream:
            log.records.append(each)
            log.last[each.key] = each
            if each.digest in log.places:
                log.again[each.digest] += 1
            log.places[each.digest] = each.offset
        return log

    def front(self, other: _Log) -> int:
        """Return the offset of the first record that ``other`` has as well.

        Retention of ``other`` may have deleted what stands before it: all, if ``other`` is empty.
        """
        common = (each.offset for each in self.records if each.digest in other.places)
        after = self.records[-1].offset + 1 if self.records and not other.records else 0
        return next(common, after)


class _ByKey:
    """One comparison in progress."""

    def __init__(
        self, logs: tuple[_Log, _Log], known: Known, compacted: Compacted, limits: Limits
    ) -> None:
        source, target = self._source, self._target = logs
        self._known, self._compacted, self._limits = known, compacted, limits
        self._source_front = source.front(target) if known.target_deleted else 0
        self._target_front = target.front(source) if known.source_deleted else 0
        self._result = Comparison()

    def run(self) -> Comparison:
        self._result.source_records = len(self._source.records)
        self._result.target_records = len(self._target.records)
        self._judge_order()
        for each in self._target.records:
            if each.digest not in self._source.places:
                self._judge_additional(each)
        for each in self._source.records:
            if each.digest not in self._target.places:
                self._judge_missing(each)
        return self._result

    def _judge_order(self) -> None:
        """Count what both sides have, what comes again, and what stands before its predecessor."""
        seen: Counter[int] = Counter()
        before = -1
        for each in self._target.records:
            place = self._source.places.get(each.digest)
            if seen[each.digest] > self._source.again[each.digest]:
                self._note(Kind.REPEATED, None, each.offset)
            elif place is not None:
                self._result.equal += 1
                if place < before:
                    self._note(Kind.OUT_OF_ORDER, place, each.offset)
                before = place
            seen[each.digest] += 1

    def _judge_additional(self, record: Keyed) -> None:
        """Judge a record that the source does not have."""
        if record is self._target.last[record.key] and self._is_altered(record.key):
            return  # noted with the record that it stands for
        if self._compacted.source and self._is_replaced_on_source(record):
            self._result.apart[Apart.COMPACTED_ON_SOURCE] += 1
        elif record.offset < self._target_front:
            self._result.apart[Apart.DELETED_ON_SOURCE] += 1
        else:
            self._note(Kind.EXTRA, None, record.offset)

    def _is_replaced_on_source(self, record: Keyed) -> bool:
        """Say whether the source may have dropped it: by a later record, or as an old tombstone."""
        following = self._source.last.get(record.key)
        if record is not self._target.last[record.key]:
            return True
        return record.tombstone if following is None else self._is_in_flight(following)

    def _judge_missing(self, record: Keyed) -> None:
        """Judge a record that the target does not have."""
        if self._is_in_flight(record):
            self._result.source_records -= 1
            self._result.apart[Apart.IN_FLIGHT] += 1
        elif record is self._source.last[record.key] and self._is_altered(record.key):
            self._note(Kind.DIFFERENT, record.offset, self._target.last[record.key].offset)
        elif self._compacted.target and self._is_replaced_on_target(record):
            self._result.apart[Apart.COMPACTED_ON_TARGET] += 1
        elif record.offset < self._source_front:
            self._result.apart[Apart.DELETED_ON_TARGET] += 1
        else:
            self._note(Kind.LOST, record.offset, None)

    def _is_replaced_on_target(self, record: Keyed) -> bool:
        """Say whether the target may have dropped it: by a later record, or as an old tombstone."""
        following, theirs = self._source.last[record.key], self._target.last.get(record.key)
        if record is following:
            return record.tombstone and theirs is None
        if not self._is_in_flight(following):
            return True
        return theirs is not None and self._source.places.get(theirs.digest, -1) > record.offset

    def _is_altered(self, key: int) -> bool:
        """Say whether the last records of a key are each unknown to the other side."""
        ours, theirs = self._source.last.get(key), self._target.last.get(key)
        if ours is None or theirs is None or self._is_in_flight(ours):
            return False
        return ours.digest not in self._target.places and theirs.digest not in self._source.places

    def _is_in_flight(self, record: Keyed) -> bool:
        return (
            self._known.may_be_in_flight(record.offset) and record.digest not in self._target.places
        )

    def _note(self, kind: Kind, source: int | None, target: int | None) -> None:
        self._result.note(kind, Example(source, target), self._limits)
