"""Compares a source and a target partition: merges two streams of record fingerprints. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from replication.records.comparison_result import (
    Comparison,
    DifferenceKind,
    Example,
    Limits,
    NoCounterpart,
    PartitionFacts,
    RecordPart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.records.comparison_result import Fingerprint


def compare(
    source: Iterable[Fingerprint],
    target: Iterable[Fingerprint],
    *,
    foreign_ok: bool = False,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    known: PartitionFacts = PartitionFacts(),  # noqa: B008 - frozen
) -> Comparison:
    """Compare two streams of one partition.

    Records that ``known`` says may be in flight, or have been deleted, are no differences. Where
    the target ends and the rest of the source may be in flight, no more than a window of it is
    read; beyond it the offsets up to the source's end count.

    ``foreign_ok``: the target also holds records of other producers, which are only counted as
    extra; a record that was altered then shows as one lost and one extra.
    """
    return _Comparing(_Side(source), _Side(target), limits, known, foreign_ok=foreign_ok).run()


class _Side:
    """One stream: its next records, read ahead only as far as a search needs."""

    def __init__(self, stream: Iterable[Fingerprint]) -> None:
        self._rest = iter(stream)
        self.ahead: deque[Fingerprint] = deque()
        self.read = 0

    def fill(self, count: int) -> bool:
        """Read until ``count`` records are ahead. False: the stream has fewer."""
        while len(self.ahead) < count:
            following = next(self._rest, None)
            if following is None:
                return False
            self.ahead.append(following)
            self.read += 1
        return True

    def take(self, count: int) -> list[Fingerprint]:
        return [self.ahead.popleft() for _ in range(count)]


class _Place(NamedTuple):
    """The gap and the offset of an unmatched record, and the hashes of its parts."""

    gap: int
    offset: int
    parts: tuple[int, ...]


class _Skip(NamedTuple):
    """How many records to skip on either side."""

    source: int
    target: int


class _Unmatched:
    """Records of one side that found no counterpart in their gap, by digest."""

    def __init__(self) -> None:
        self._by_digest: dict[int, deque[_Place]] = {}
        self.count = 0

    def add(self, gap: int, record: Fingerprint) -> None:
        self._by_digest.setdefault(record.digest, deque()).append(
            _Place(gap, record.offset, record.parts)
        )
        self.count += 1

    def claim(self, digest: int) -> int | None:
        """Remove a record with this content and return its offset, or None."""
        places = self._by_digest.get(digest)
        if places is None:
            return None
        offset = places.popleft().offset
        if not places:
            del self._by_digest[digest]
        self.count -= 1
        return offset

    def drain(self) -> dict[int, list[_Place]]:
        """Remove all records: their places in order, by gap."""
        gaps: dict[int, list[_Place]] = {}
        for place in sorted(each for places in self._by_digest.values() for each in places):
            gaps.setdefault(place.gap, []).append(place)
        self._by_digest.clear()
        self.count = 0
        return gaps


class _Comparing:
    """One comparison in progress."""

    def __init__(
        self,
        source: _Side,
        target: _Side,
        limits: Limits,
        known: PartitionFacts,
        *,
        foreign_ok: bool,
    ) -> None:
        self._source, self._target = source, target
        self._limits, self._known, self._foreign_ok = limits, known, foreign_ok
        self._lost, self._extra = _Unmatched(), _Unmatched()
        self._seen: dict[int, None] = {}  # digests that agreed, oldest first
        self._gap = 0
        self._leading = 0  # the last gap before the first agreement
        # Offsets that retention deleted and whose records are not found yet, of either side.
        self._deleted = {
            NoCounterpart.DELETED_ON_TARGET: known.target_deleted,
            NoCounterpart.DELETED_ON_SOURCE: known.source_deleted,
        }
        self._result = Comparison()

    def run(self) -> Comparison:
        source, target = self._source, self._target
        while source.fill(1) | target.fill(1):
            if not target.ahead and self._known.may_be_in_flight(source.ahead[0].offset):
                self._leave_in_flight()
                break
            if source.ahead and target.ahead and source.ahead[0].digest == target.ahead[0].digest:
                self._agree(source.ahead.popleft().digest)
                target.ahead.popleft()
            else:
                self._skip(*self._next_agreement())
        self._classify()
        self._result.source_records += source.read
        self._result.target_records = target.read
        return self._result

    def _leave_in_flight(self) -> None:
        """Count the rest of the source as in flight."""
        more = self._source.fill(self._limits.window)
        rest = self._source.take(len(self._source.ahead))
        self._result.source_records -= len(rest)
        self._result.no_counterpart[NoCounterpart.IN_FLIGHT] += len(rest)
        if more:
            unread = self._known.source_end - rest[-1].offset - 1
            self._result.no_counterpart[NoCounterpart.IN_FLIGHT] += max(0, unread)

    def _agree(self, digest: int) -> None:
        self._result.equal += 1
        self._seen[digest] = None
        if len(self._seen) > self._limits.memory:
            del self._seen[next(iter(self._seen))]

    def _next_agreement(self) -> _Skip:
        """Return how many records to skip on either side so that the next ones agree.

        The nearest agreement counts: the one with the fewest records skipped in all.
        """
        size = 16
        while True:
            more = self._source.fill(size) | self._target.fill(size)
            best = _nearest(self._source.ahead, self._target.ahead)
            if best is not None and (sum(best) < size or not more):
                return best
            if not more or size >= self._limits.window:
                return best or self._give_up(more=more)
            size = min(size * 4, self._limits.window)

    def _give_up(self, *, more: bool) -> _Skip:
        """Return what to skip where nothing agrees as far as we can see."""
        source, target = len(self._source.ahead), len(self._target.ahead)
        # A long run of another producer's records must not skip source records.
        return _Skip(0 if more and self._foreign_ok and target else source, target)

    def _skip(self, from_source: int, from_target: int) -> None:
        self._gap += 1
        if not self._result.equal:
            self._leading = self._gap
        for record in self._source.take(from_source):
            elsewhere = self._extra.claim(record.digest)
            if elsewhere is None:
                self._lost.add(self._gap, record)
            else:
                self._note(DifferenceKind.OUT_OF_ORDER, record.offset, elsewhere)
        for record in self._target.take(from_target):
            elsewhere = self._lost.claim(record.digest)
            if elsewhere is not None:
                self._note(DifferenceKind.OUT_OF_ORDER, elsewhere, record.offset)
            elif record.digest in self._seen:
                self._note(DifferenceKind.REPEATED, None, record.offset)
            else:
                self._extra.add(self._gap, record)
        if self._lost.count + self._extra.count > self._limits.memory:
            self._classify()

    def _classify(self) -> None:
        """Assign a kind to all unmatched records."""
        lost, extra = self._lost.drain(), self._extra.drain()
        for gap in sorted(lost.keys() | extra.keys()):
            self._classify_gap(gap, self._due(lost.get(gap, [])), extra.get(gap, []))

    def _due(self, sources: list[_Place]) -> list[_Place]:
        """Return the places of records that must be on the target; count those in flight."""
        due = [each for each in sources if not self._known.may_be_in_flight(each.offset)]
        self._result.no_counterpart[NoCounterpart.IN_FLIGHT] += len(sources) - len(due)
        self._result.source_records -= len(sources) - len(due)
        return due

    def _classify_gap(self, gap: int, sources: list[_Place], targets: list[_Place]) -> None:
        pairs = 0 if self._foreign_ok else min(len(sources), len(targets))
        if gap <= self._leading:
            sources = sources[self._excuse(NoCounterpart.DELETED_ON_TARGET, len(sources) - pairs) :]
            targets = targets[self._excuse(NoCounterpart.DELETED_ON_SOURCE, len(targets) - pairs) :]
        for source, target in zip(sources[:pairs], targets[:pairs], strict=True):
            parts = _differing(source.parts, target.parts)
            example = Example(source.offset, target.offset)
            self._result.note_different(example, parts, self._limits)
        for source in sources[pairs:]:
            self._note(DifferenceKind.LOST, source.offset, None)
        for target in targets[pairs:]:
            self._note(DifferenceKind.EXTRA, None, target.offset)

    def _excuse(self, why: NoCounterpart, most: int) -> int:
        """Return how many of ``most`` records retention can account for, and count them."""
        excused = min(self._deleted[why], most)
        self._deleted[why] -= excused
        self._result.no_counterpart[why] += excused
        return excused

    def _note(self, kind: DifferenceKind, source: int | None, target: int | None) -> None:
        self._result.note(kind, Example(source, target), self._limits)


def _differing(source: tuple[int, ...], target: tuple[int, ...]) -> tuple[RecordPart, ...]:
    """Return which parts of two records differ; none where their parts are not known."""
    known = zip(RecordPart, source, target, strict=False)
    return tuple(part for part, here, there in known if here != there)


def _nearest(source: deque[Fingerprint], target: deque[Fingerprint]) -> _Skip | None:
    """Return the positions of the nearest equal records, or None."""
    last = len(target) - 1  # backwards, so that the first place of a content remains
    first = {record.digest: last - at for at, record in enumerate(reversed(target))}
    best: _Skip | None = None
    for at, record in enumerate(source):
        if best is not None and at >= sum(best):
            break
        there = first.get(record.digest)
        if there is not None and (best is None or at + there < sum(best)):
            best = _Skip(at, there)
    return best
