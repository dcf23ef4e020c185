"""Divides what is copied of a partition into ranges that can be compared apart. Pure.

An anchor and the offset points name offsets of both sides that belong together, for ever: our
records before the one are before the other. So each range between two of them holds the same
records on both sides, whatever is being copied meanwhile. Where such an interval is straight (every
offset is a copied record, on both sides), any offset in it has its known counterpart too, and large
intervals are cut there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import Mode, OffsetRange
from replication.offsets.offset_points import is_straight
from replication.records.batch_comparison import OffsetPair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replication.offsets.offset_map import SyncPoint


@dataclass(frozen=True, slots=True)
class PairedRange:
    """A range of both sides before it gets its partition."""

    here: OffsetRange
    there: OffsetRange
    transactional: bool = False  # copied in transactions: aborted copies do not count
    straight: bool = False  # every offset is a copied record, on both sides


def plan_paired_ranges(
    begin: OffsetPair, sync_points: Sequence[SyncPoint], most_records: int
) -> list[PairedRange]:
    """Return the ranges from ``begin`` up to the last sync point, in order, without a gap.

    ``begin`` is a place too. Each range holds about ``most_records``, more only between two sync
    points that are not straight.
    """
    found: list[PairedRange] = []
    for each in _cut(begin, sync_points, max(1, most_records)):
        last = found[-1] if found else None
        if last is not None and _records(last) + _records(each) <= most_records:
            found[-1] = PairedRange(
                OffsetRange(last.here.start, each.here.end),
                OffsetRange(last.there.start, each.there.end),
                last.transactional or each.transactional,
                last.straight and each.straight and _distance(last) == _distance(each),
            )
        else:
            found.append(each)
    return found


def _cut(begin: OffsetPair, sync_points: Sequence[SyncPoint], most: int) -> Iterator[PairedRange]:
    """Yield the intervals behind ``begin``, straight ones in parts of ``most`` records."""
    at = begin
    for low, high in zip([None, *sync_points], sync_points, strict=False):
        end = OffsetPair(high.source, high.target)
        if end.source < at.source or end.target < at.target or end == at:
            continue
        transactional = high.mode == Mode.TRANSACTIONAL
        distance = end.target - end.source
        straight = bool(low and is_straight(low, high) and at.target - at.source == distance)
        if straight:
            for source in range(at.source + most, end.source, most):
                there = OffsetPair(source, source + distance)
                yield _between(at, there, transactional=transactional, straight=True)
                at = there
        yield _between(at, end, transactional=transactional, straight=straight)
        at = end


def _between(
    one: OffsetPair, two: OffsetPair, *, transactional: bool, straight: bool
) -> PairedRange:
    here, there = OffsetRange(one.source, two.source), OffsetRange(one.target, two.target)
    return PairedRange(here, there, transactional, straight)


def _distance(paired: PairedRange) -> int:
    return paired.there.start - paired.here.start


def _records(paired: PairedRange) -> int:
    """Return how many records a range holds at most."""
    here, there = paired.here, paired.there
    return max(here.end - here.start, there.end - there.start)
