"""Which offsets of a transform's source and target belong together, and when that is noted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.model import TopicPartition
from replication.state import Anchor, TransformStart
from spark_jobs.transform.point_record import point_now

START = TransformStart("f", 0, "d", {"t": [5, None, 7]}, began_ms=60_000)


def anchors(*offsets: int | None) -> dict[TopicPartition, Anchor]:
    return {
        TopicPartition("t", n): Anchor("f", "t", n, "A.t", offset, None)
        for n, offset in enumerate(offsets)
    }


def test_a_point_has_the_positions_of_partitions_that_have_begun():
    found = point_now(START, anchors(10, 3, 9), None, 60_000)
    assert (found.sources, found.era, found.minute) == ({"t": [10, None, 9]}, 60_000, 0)


def test_a_minute_later_there_is_another_one_unless_nothing_moved():
    first = point_now(START, anchors(10, 3, 9), None, 60_000)
    moved = anchors(11, 3, 9)
    assert point_now(START, moved, first, 119_999) is None
    assert point_now(START, moved, first, 120_000).minute == 1
    assert point_now(START, anchors(10, 3, 9), first, 120_000) is None
    assert point_now(START, anchors(5, 3, 7), None, 120_000) is None  # the start itself


def test_after_another_start_the_next_point_is_of_that_one():
    first = point_now(START, anchors(10, 3, 9), None, 60_000 * 9)
    again = replace(START, began_ms=600_000)
    assert point_now(again, anchors(11, 3, 9), first, 600_000).era == 600_000


@pytest.mark.parametrize("known", [anchors(10, 3), anchors(10, 3, None)])
def test_there_is_none_while_a_position_is_unknown(known):
    assert point_now(START, known, None, 60_000) is None


def test_there_is_none_before_the_transform_began():
    assert point_now(None, {}, None, 60_000) is None


def test_older_points_are_replaced_by_newer_ones_of_their_level():
    slots = {
        point_now(START, anchors(10 + n, 3, 9), None, 60_000 * (1 + n)).slot for n in range(5_000)
    }
    assert len(slots) < 100
