"""The topic of offset points has lost some: no offset is translated to a record further on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.records.copied_logs import HERE, OLDER, OURS, Copy, a_life

from replication.offsets.flow_offsets import FlowOffsets
from replication.offsets.known_points import KnownPoints
from replication.offsets.offset_map import POINTS_LOST, has_lost_first, sync_points_of
from replication.offsets.offset_points import point_at
from replication.state import Anchor, Loss, OffsetPoint, ProducerEntry

ANCHOR = Anchor("f", "t", 0, "t", 300, 310, records=300, run=(7, 2, 200, 210, 200))
FIRST = OffsetPoint("f", "t", 0, 0, era=7, number=0)


def answers(copy: Copy, left: list[OffsetPoint]):
    known = KnownPoints("f")
    refused = [Loss("f", "t", 0, "", first, "REFUSED", end) for first, end in copy.refused]
    entries = [ProducerEntry(each, "f", "", "") for each in (OURS, OLDER)]
    known.learn([copy.at, *left, *refused, *entries])
    flow_offsets = FlowOffsets(known, copy.source, copy.target)
    offsets = range(copy.source.end + 1)
    return asyncio.run(flow_offsets.translate({HERE: offsets}))[HERE]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 5))
def test_no_record_is_skipped_whichever_of_the_oldest_points_are_gone(seed, gone):
    copy = a_life(seed)
    copy.note()
    points = sorted(copy.points.values(), key=lambda each: each.number)
    left = points[min(gone, len(points)) :]
    for offset, answer in answers(copy, left).items():
        if answer == POINTS_LOST:
            assert gone
            assert offset < (left[0].source if left else copy.at.run[2])
        elif answer.offset is not None:
            assert answer.offset <= copy.truth(offset), offset


def test_before_the_oldest_point_that_is_left_nothing_is_translated():
    copy = Copy()
    for _ in range(5):
        copy.write(20)
        copy.copy(20)
        copy.target.mark(8)
        copy.note()
    left = [each for each in copy.points.values() if each.source >= 60]
    found = answers(copy, left)
    first = min(each.source for each in left)
    assert {each for each, answer in found.items() if answer == POINTS_LOST} == set(range(first))


@pytest.mark.parametrize(
    ("points", "run", "lost"),
    [
        ([FIRST], (7, 2, 200, 210, 200), False),
        ([], (7, 2, 200, 210, 200), True),
        ([], (7, 0, 0, 0, 0), False),  # the anchor repeats it
        ([replace(FIRST, era=6)], (7, 2, 200, 210, 200), True),
        ([], None, False),
    ],
)
def test_the_first_point_of_a_copy_is_stored_for_ever_so_it_is_missed(points, run, lost):
    assert has_lost_first(points, replace(ANCHOR, run=run)) is lost


def test_the_newest_point_is_known_from_the_anchor():
    found = sync_points_of([FIRST], ANCHOR)
    assert [(each.source, each.target) for each in found] == [(0, 0), (200, 210), (300, 310)]
    newest = point_at(replace(ANCHOR, source=200, target=210, records=200), 7, 2)
    assert found == sync_points_of([FIRST, newest], ANCHOR)
