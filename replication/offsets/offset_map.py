"""Sync points of source and target, and the answer for an offset that has no record. Pure.

The translation of a source offset is the target offset of the next copied record at or behind it,
exactly: no record is skipped and none read again. Between two sync points it is computed, where
the interval is straight, or counted; see ``replication.offsets.translate``.

For an offset without a record of its own nothing is skipped either:

==============================================  =================================================
offset                                          answer
==============================================  =================================================
in a hole (compaction, markers, aborted, lost)  the next record that was copied
before the first record that was ever copied    that record
the end of what is copied                       the end of the target: a group there has no lag
beyond what is copied                           None: not copied yet
in an open transaction, or behind one           None: not copied yet
beyond the end of the log, or negative          None, and why; see ``log_bounds``
of a record that retention took at the target   the first record that is left there
==============================================  =================================================
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.model import OffsetRange
from replication.offsets.offset_points import is_straight, point_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.state import Anchor, OffsetPoint


class Answer(NamedTuple):
    """A translated offset. None and no ``problem``: not copied yet.

    Not ``exact``: the offset may be too low, never too high. That happens where compaction or
    retention has taken records that would have to be counted. ``problem`` is why there is no offset
    and waiting does not help: the predicate of a sentence about the offset.
    """

    offset: int | None
    exact: bool = True
    problem: str = ""


def without_answer(problem: str) -> Answer:
    """Return the answer for an offset that is not translated, for this reason."""
    return Answer(None, exact=False, problem=problem)


NOT_YET = Answer(None)
BEFORE_US = without_answer(
    "was copied before the takeover: its offset on the other cluster is unknown"
)
POINTS_LOST = without_answer(
    "is before the oldest offset mapping that is left in isthmus-offsets.*.internal"
)


@dataclass(frozen=True, slots=True)
class SyncPoint:
    """Corresponding offsets: next source and target offset, and the records copied before.

    ``mode``, ``isolation`` and ``origins`` are those of the records since the previous sync point.
    """

    source: int
    target: int
    records: int
    mode: str
    isolation: str
    origins: str


def sync_points_of(points: Iterable[OffsetPoint], anchor: Anchor) -> tuple[SyncPoint, ...]:
    """Return the sync points of a partition in order, the anchor last; none: nothing is known.

    Leaves out points of other topic ids or of an earlier start of the copy, and points ahead of a
    newer one: the copy restarted further back.
    """
    if anchor.source is None or anchor.target is None:
        return ()
    kept = [_sync_point(anchor)]
    of_this_start = _with_newest(_of(points, anchor), anchor)
    for each in sorted(of_this_start, key=lambda point: point.number, reverse=True):
        sync_point, later = _sync_point(each), kept[-1]
        if (
            sync_point.source <= later.source
            and sync_point.target <= later.target
            and sync_point.records <= later.records
        ):
            kept.append(sync_point)
    return tuple(reversed(kept))


def has_lost_first(points: Iterable[OffsetPoint], anchor: Anchor) -> bool:
    """Say whether the point is gone at which the copy began, which is stored for ever.

    Then an offset before the oldest point that is left is not one before the first copied record.
    """
    return anchor.run is not None and all(
        each.number for each in _with_newest(_of(points, anchor), anchor)
    )


def _with_newest(points: Iterable[OffsetPoint], anchor: Anchor) -> list[OffsetPoint]:
    """Return the points and the one that the anchor repeats."""
    found = list(points)
    if anchor.run is not None and anchor.run[1] not in {each.number for each in found}:
        incarnation, number, source, target, records = anchor.run
        there = replace(anchor, source=source, target=target, records=records)
        found.append(point_at(there, incarnation, number))
    return found


def _of(points: Iterable[OffsetPoint], anchor: Anchor) -> Iterable[OffsetPoint]:
    incarnation = anchor.run[0] if anchor.run is not None else None
    return (
        each
        for each in points
        if each.era == incarnation
        and _same(each.source_topic_id, anchor.source_topic_id)
        and _same(each.target_topic_id, anchor.target_topic_id)
    )


def _same(one: str, other: str) -> bool:
    """Compare topic ids; an empty one is unknown."""
    return one == other or not one or not other


def _sync_point(at: Anchor | OffsetPoint) -> SyncPoint:
    return SyncPoint(at.source or 0, at.target or 0, at.records, at.mode, at.isolation, at.origins)


class OffsetInterval(NamedTuple):
    """A partition's offsets between two sync points; ``high`` None: up to the log ends.

    Sides: 0 is the log to translate from, 1 the other one.
    """

    low: SyncPoint
    high: SyncPoint | None
    back: bool = False  # from target to source

    def at(self, sync_point: SyncPoint) -> tuple[int, int]:
        """Return a sync point's offset in the log to translate from, and in the other one."""
        return (
            (sync_point.target, sync_point.source)
            if self.back
            else (sync_point.source, sync_point.target)
        )

    @property
    def records(self) -> int | None:
        """Number of records copied in it; None: unknown yet."""
        return None if self.high is None else self.high.records - self.low.records

    @property
    def straight(self) -> bool:
        return self.high is not None and is_straight(self.low, self.high)

    def span(self, side: int) -> OffsetRange:
        """Return the offset range of a closed interval in a log."""
        return OffsetRange(self.at(self.low)[side], self.at(self.high or self.low)[side])

    def is_dense(self, side: int) -> bool:
        """Say whether every offset of a log is a copied record."""
        begin, end = self.span(side)
        return end - begin == self.records

    def lowest(self, offset: int) -> int:
        """Return the lowest answer that can be right for ``offset``, whatever was compacted."""
        (begin, end), (there, end_there) = self.span(0), self.span(1)
        if self.high is None or offset <= begin:
            return there
        others = end_there - there - (self.records or 0)
        return max(there, end_there - others - (end - offset))


def intervals(sync_points: Sequence[SyncPoint], *, back: bool) -> list[OffsetInterval]:
    """Return the intervals between sync points, the open one last."""
    highs = [*sync_points[1:], None]
    return [OffsetInterval(low, high, back) for low, high in zip(sync_points, highs, strict=True)]


def interval_of(listed: Sequence[OffsetInterval], offset: int) -> int:
    """Return the index of the interval with ``offset``; offsets before the first count as in it.

    Of those that begin at the same offset the last one: the others hold no record.
    """
    begins = [each.at(each.low)[0] for each in listed]
    return max(0, bisect_right(begins, max(offset, begins[0])) - 1)
