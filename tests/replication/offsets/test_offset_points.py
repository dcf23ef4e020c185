"""Which points of a partition are kept, so that offsets can be translated later."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from replication.offsets.offset_points import WIDTH, OffsetPoints, is_straight, slot
from replication.state import Anchor, parse


def an_anchor(source, target, records, **rest):
    return Anchor("A->B", "t", 0, "A.t", source, target, records=records, **rest)


def places(offset_points):
    return [(each.source, each.target, each.records) for each in offset_points.pending]


def test_a_straight_copy_needs_no_point_but_the_first():
    offset_points = OffsetPoints.of(an_anchor(100, 7, 0))
    for more in (10, 500, 100_000):
        offset_points.note(an_anchor(100 + more, 7 + more, more))
    assert places(offset_points) == [(100, 7, 0)]


def test_where_the_straight_ends_both_sides_are_kept():
    offset_points = OffsetPoints.of(an_anchor(0, 0, 0))
    offset_points.note(an_anchor(50, 50, 50))
    offset_points.note(an_anchor(80, 81, 80))  # a marker came between
    offset_points.note(an_anchor(90, 91, 90))
    assert places(offset_points) == [(0, 0, 0), (50, 50, 50), (80, 81, 80)]


def test_a_gap_and_a_marker_of_one_offset_each_are_no_straight():
    assert not is_straight(an_anchor(0, 0, 0), an_anchor(10, 10, 9))
    assert is_straight(an_anchor(0, 0, 0), an_anchor(10, 10, 10))


def test_another_topic_isolation_or_mode_begins_a_run_of_its_own():
    changes = (
        ("source_topic_id", "b"),
        ("isolation", "x"),
        ("mode", "transactional"),
        ("origins", "-A"),
    )
    for change in map(dict, zip(changes)):
        offset_points = OffsetPoints.of(an_anchor(0, 0, 0))
        offset_points.note(an_anchor(5, 5, 5, **change))
        assert places(offset_points) == [(0, 0, 0), (5, 5, 5)]


def test_the_next_appender_goes_on_from_the_anchor():
    offset_points = OffsetPoints.of(an_anchor(0, 0, 0))
    left = offset_points.note(an_anchor(50, 50, 50))
    following = OffsetPoints.of(parse(left.key(), left.value()))
    following.note(an_anchor(60, 60, 60))
    assert places(following) == []
    following.note(an_anchor(70, 71, 70))
    assert [each.number for each in following.pending] == [1, 2]


def test_an_appender_that_begins_elsewhere_than_the_anchor_says_so_at_once():
    moved = replace(an_anchor(50, 90, 50), run=(0, 3, 0, 0, 0))  # the target was emptied
    assert [(each.number, each.target) for each in OffsetPoints.of(moved).pending] == [(4, 90)]


def test_nothing_is_noted_before_a_position_is_known():
    offset_points = OffsetPoints.of(Anchor("A->B", "t", 0, "A.t", None, None))
    assert offset_points.note(offset_points.last).run is None
    assert offset_points.note(an_anchor(3, 0, 0)).run == (0, 0, 3, 0, 0)


@given(st.integers(0, 5000), st.floats(0, 1))
def test_kept_points_lie_as_close_as_their_age_asks(newest, share):
    kept = sorted({slot(number): number for number in range(newest + 1)}.values())
    expected = int(newest * share)
    before = max(each for each in kept if each <= expected)
    assert expected - before <= 1 + (newest - expected) * 2 / WIDTH
    assert kept[0] == 0
    assert len(kept) <= 1 + WIDTH * (newest.bit_length() + 1)
