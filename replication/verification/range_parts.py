"""Finds the parts of a range that differ: what is equal need not be looked at record by record.

In a straight range any offset has its known counterpart, so each part can be compared for itself,
batch by batch. Parts that differ are divided again. A fault of one record is in one small part; one
that moves all later records is in all parts up to the fault that moves them back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.model import OffsetRange
from replication.verification.ranges import RangePart

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from replication.verification.ranges import RangeResult, VerifiedRange

    Compare = Callable[[VerifiedRange], Awaitable[RangeResult]]

LEAST = 10_000  # records of a part that is not divided any more
_PARTS = 16


def can_be_divided(checked: VerifiedRange, found: RangeResult) -> bool:
    """Say whether parts of a range that differs can be compared."""
    is_plain = checked.straight and not checked.left_out and not found.damaged
    return not found.equal and is_plain and _length(checked) > LEAST


async def differing_parts(checked: VerifiedRange, compare: Compare) -> list[RangePart]:
    """Return the parts of a straight range, in order, without a gap."""
    found = [part async for part in _compared(checked, compare)]
    return [*_joined(found)]


async def _compared(checked: VerifiedRange, compare: Compare):  # type: ignore[no-untyped-def]
    for each in _divided(checked):
        result = await compare(each)
        if can_be_divided(each, result):
            async for part in _compared(each, compare):
                yield part
        else:
            yield RangePart(each.here.start, each.there.start, _length(each), result.equal)


def _divided(checked: VerifiedRange) -> Iterator[VerifiedRange]:
    (first, end), distance = checked.here, checked.there.start - checked.here.start
    step = max(LEAST, -(-(end - first) // _PARTS))
    for start in range(first, end, step):
        here = OffsetRange(start, min(end, start + step))
        there = OffsetRange(here.start + distance, here.end + distance)
        yield replace(checked, here=here, there=there)


def _joined(parts: Iterable[RangePart]) -> Iterator[RangePart]:
    """Yield parts with equal neighbours as one, the last records of it apart: they are context."""
    equal: RangePart | None = None
    for each in parts:
        if each.equal:
            equal = each if equal is None else equal._replace(length=equal.length + each.length)
            continue
        if equal is not None:
            yield from _with_context(equal)
        equal = None
        yield each
    if equal is not None:
        yield equal


def _with_context(part: RangePart) -> Iterator[RangePart]:
    before = part.length - LEAST
    if before <= 0:
        yield part
        return
    yield part._replace(length=before)
    yield RangePart(part.source + before, part.target + before, LEAST, equal=True)


def _length(checked: VerifiedRange) -> int:
    return checked.here.end - checked.here.start
