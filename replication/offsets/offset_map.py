"""Offsets of a source partition as offsets of its copy, and back: where an answer is to be sought.

Pure. The answer for a source offset is where the next copied record at or behind it stands on the
target, exactly: no record is skipped and none read again. Between two marks the answer is
reckoned, where the run between them is straight, or counted; see ``replication.offsets.translate``.

What has no record of its own is defined so that nothing is skipped:

==============================================  =================================================
offset                                          answer
==============================================  =================================================
in a hole (compaction, markers, aborted, lost)  the next record that was copied
before the first record that was ever copied    that record
the end of what is copied                       the end of the target: a group there has no lag
beyond what is copied                           None: not copied yet
of a record that retention took at the target   the first record that is left there
==============================================  =================================================
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from replication.model import OffsetRange
from replication.offsets.offset_points import is_straight

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.state import Anchor, OffsetPoint


class Answer(NamedTuple):
    """A translated offset. None: not copied yet. Not ``exact``: it may be too low, never too high.

    That happens where compaction has taken records that would have to be counted. None and not
    exact: another copier has copied it before we took over, and where to is not known.
    """

    offset: int | None
    exact: bool = True


NOT_YET = Answer(None)
BEFORE_US = Answer(None, exact=False)


@dataclass(frozen=True, slots=True)
class SyncPoint:
    """A point as it is used: next source offset, next target offset, records copied before.

    ``mode``, ``isolation`` and ``origins`` are those of what lies between the mark before and it.
    """

    source: int
    target: int
    records: int
    mode: str
    isolation: str
    origins: str


def sync_points_of(points: Iterable[OffsetPoint], anchor: Anchor) -> tuple[SyncPoint, ...]:
    """Return the marks of a partition in their order, the anchor last; none: nothing is known.

    What was noted of other topics of the same name, or in another era, does not count; nor does
    what lies ahead of something newer, which began anew further back.
    """
    if anchor.source is None or anchor.target is None:
        return ()
    kept = [_mark(anchor)]
    for each in sorted(_of(points, anchor), key=lambda point: point.number, reverse=True):
        mark, later = _mark(each), kept[-1]
        if (
            mark.source <= later.source
            and mark.target <= later.target
            and mark.records <= later.records
        ):
            kept.append(mark)
    return tuple(reversed(kept))


def _of(points: Iterable[OffsetPoint], anchor: Anchor) -> Iterable[OffsetPoint]:
    era = anchor.run[0] if anchor.run is not None else None
    return (
        each
        for each in points
        if each.era == era
        and _same(each.source_topic_id, anchor.source_topic_id)
        and _same(each.target_topic_id, anchor.target_topic_id)
    )


def _same(one: str, other: str) -> bool:
    """Compare topic ids; an empty one is not known yet."""
    return one == other or not one or not other


def _mark(at: Anchor | OffsetPoint) -> SyncPoint:
    return SyncPoint(at.source or 0, at.target or 0, at.records, at.mode, at.isolation, at.origins)


class OffsetInterval(NamedTuple):
    """The part of a partition between two marks; ``high`` None: it goes on to the logs' ends.

    Sides: 0 is the log to translate from, 1 the other one.
    """

    low: SyncPoint
    high: SyncPoint | None
    back: bool = False  # from target to source

    def at(self, mark: SyncPoint) -> tuple[int, int]:
        """Return a mark's offset in the log to translate from, and in the other one."""
        return (mark.target, mark.source) if self.back else (mark.source, mark.target)

    @property
    def records(self) -> int | None:
        """How many records were copied in it; None: that is not known yet."""
        return None if self.high is None else self.high.records - self.low.records

    @property
    def straight(self) -> bool:
        return self.high is not None and is_straight(self.low, self.high)

    def span(self, side: int) -> OffsetRange:
        """Return where a closed stretch begins and ends in a log."""
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


def intervals(marks: Sequence[SyncPoint], *, back: bool) -> list[OffsetInterval]:
    """Return the stretches between marks, the open one last."""
    highs = [*marks[1:], None]
    return [OffsetInterval(low, high, back) for low, high in zip(marks, highs, strict=True)]


def interval_of(listed: Sequence[OffsetInterval], offset: int) -> int:
    """Return which stretch ``offset`` lies in; what is before the first lies in the first.

    Of those that begin at the same offset the last one: the others hold no record.
    """
    begins = [each.at(each.low)[0] for each in listed]
    return max(0, bisect_right(begins, max(offset, begins[0])) - 1)
