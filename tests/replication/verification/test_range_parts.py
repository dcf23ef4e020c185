"""Which parts of a range differ."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from replication.model import OffsetRange, TopicPartition
from replication.verification.range_parts import LEAST, can_be_divided, differing_parts
from replication.verification.ranges import RangePart, RangeResult, VerifiedRange

T = TopicPartition("t", 0)
COUNT, AHEAD = 1_000_000, 50
RANGE = VerifiedRange(
    7, T, T, OffsetRange(100, 100 + COUNT), OffsetRange(150, 150 + COUNT), straight=True
)


def parts(*wrong: int) -> tuple[list[RangePart], int]:
    """Return the parts if these offsets differ, and how many comparisons that took."""
    compared: list[VerifiedRange] = []

    async def compare(part: VerifiedRange) -> RangeResult:
        assert part.there.start - part.here.start == AHEAD
        assert part.there.end - part.here.end == AHEAD
        compared.append(part)
        equal = not any(part.here.start <= each < part.here.end for each in wrong)
        return RangeResult(part.number, equal)

    return asyncio.run(differing_parts(RANGE, compare)), len(compared)


def test_parts_are_all_of_the_range_without_a_gap():
    found, _ = parts(40_000, 700_000, 100)
    at = RANGE.here.start
    for each in found:
        assert (each.source, each.target) == (at, at + AHEAD)
        at += each.length
    assert at == RANGE.here.end


def test_a_fault_is_in_one_small_part_with_equal_records_in_front_of_it():
    found, comparisons = parts(700_000)
    assert [each.equal for each in found] == [True, True, False, True]
    assert found[1].length == LEAST
    assert found[2].source <= 700_000 < found[2].source + found[2].length
    assert found[2].length <= LEAST
    assert comparisons < 40


def test_neighbours_that_differ_stay_neighbours():
    found, _ = parts(*range(500_000, 560_000))
    differing = [each for each in found if not each.equal]
    assert sum(each.length for each in differing) <= 60_000 + 2 * LEAST
    ends = [each.source + each.length for each in differing]
    assert ends[:-1] == [each.source for each in differing[1:]]


@pytest.mark.parametrize(
    ("checked", "found", "divided"),
    [
        (RANGE, RangeResult(7, equal=False), True),
        (RANGE, RangeResult(7, equal=True), False),
        (RANGE, RangeResult(7, equal=False, damaged="a batch"), False),
        (replace(RANGE, straight=False), RangeResult(7, equal=False), False),
        (replace(RANGE, left_out=(OffsetRange(3, 4),)), RangeResult(7, equal=False), False),
        (replace(RANGE, here=OffsetRange(0, LEAST)), RangeResult(7, equal=False), False),
    ],
)
def test_only_a_straight_range_that_differs_is_divided(checked, found, divided):
    assert can_be_divided(checked, found) is divided
