"""Offset points: where target offset - source offset changes, stored for translation. Pure.

A *point* is a fact about a partition: of our records, those with a source offset below ``source``
stand before ``target``, all others at or behind it, and ``records`` of them were copied before. Two
points with the same distances in all three have a *straight* run between them: nothing is missing
at the source and nothing of others stands between at the target, so nothing more is to be stored
however long it gets. Between other points the records are counted by their batches' headers.

Every anchor is a point. When anchors leave the straight, the last one on it and the first one off
it are kept, so at most two points a second. Older ones thin out by their number: a point has a
*level*, one in two is above the next, and the newest ``WIDTH`` of each level stay. Whatever the
age, two kept points lie within about ``2 / WIDTH`` of it, and the first point stays for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.state import OffsetPoint

if TYPE_CHECKING:
    from typing import Protocol

    from replication.state import Anchor

    class CountedPosition(Protocol):
        """The fields of a point; ``source`` and ``target`` are known."""

        @property
        def source(self) -> int | None: ...

        @property
        def target(self) -> int | None: ...

        @property
        def records(self) -> int: ...


WIDTH = 8  # newest points that are kept of each level
_TOP = 40  # the highest level


def slot(number: int) -> int:
    """Return which stored point the one of this number replaces; 0 belongs to the first alone."""
    if number == 0:
        return 0
    level = min((number & -number).bit_length() - 1, _TOP)
    return 1 + level * WIDTH + (number >> (level + 1)) % WIDTH


def is_straight(before: CountedPosition, after: CountedPosition) -> bool:
    """Say whether target - source is the same for all records between two points."""
    if before.source is None or before.target is None:
        return False
    if after.source is None or after.target is None:
        return False
    records = after.records - before.records
    return after.source - before.source == after.target - before.target == records >= 0


@dataclass(slots=True)
class OffsetPoints:
    """The points of one partition, as its appender derives them from its own anchors.

    ``pending`` are to be written, before the anchor that names them.
    """

    last: Anchor  # as it was noted last
    run: OffsetPoint | None = None  # the newest point
    pending: list[OffsetPoint] = field(default_factory=list)

    @classmethod
    def of(cls, anchor: Anchor) -> OffsetPoints:
        """Continue from ``anchor``."""
        offset_points = cls(anchor)
        if anchor.run is not None:
            incarnation, number, source, target, records = anchor.run
            there = replace(anchor, source=source, target=target, records=records)
            offset_points.run = point_at(there, incarnation, number)
        offset_points.note(anchor)
        return offset_points

    def note(self, anchor: Anchor) -> Anchor:
        """Note the partition's present anchor; return it with the newest point in it."""
        if anchor.source is None or anchor.target is None:
            return anchor
        if self.run is None:
            self._add(anchor, anchor.at_ms, 0)
        elif not (_kind(anchor) == _kind(self.last) and is_straight(self.run, anchor)):
            if _place(self.last) != _place(self.run) and is_straight(self.run, self.last):
                self._add(self.last, self.run.era, self.run.number + 1)
            self._add(anchor, self.run.era, self.run.number + 1)
        self.last = anchor
        newest = self.newest
        return anchor if anchor.run == newest else replace(anchor, run=newest)

    @property
    def newest(self) -> tuple[int, int, int, int, int] | None:
        """The newest point as an anchor names it."""
        run = self.run
        return None if run is None else (run.era, run.number, run.source, run.target, run.records)

    def _add(self, at: Anchor, incarnation: int, number: int) -> None:
        self.run = point_at(at, incarnation, number)
        self.pending.append(self.run)


def point_at(at: Anchor, incarnation: int, number: int) -> OffsetPoint:
    """Return the point of this number at an anchor; its offsets are known."""
    return OffsetPoint(
        flow=at.flow,
        topic=at.topic,
        partition=at.partition,
        slot=slot(number),
        era=incarnation,
        number=number,
        source=at.source or 0,
        target=at.target or 0,
        records=at.records,
        mode=at.mode,
        isolation=at.isolation,
        origins=at.origins,
        source_topic_id=at.source_topic_id,
        target_topic_id=at.target_topic_id,
    )


def _kind(anchor: Anchor) -> tuple[str, ...]:
    """The fields that decide which records are ours, and which are deliverable (E)."""
    topics = anchor.source_topic_id, anchor.target_topic_id
    return anchor.mode, anchor.isolation, anchor.origins, *topics


def _place(fact: CountedPosition) -> tuple[int | None, int | None, int]:
    return fact.source, fact.target, fact.records
