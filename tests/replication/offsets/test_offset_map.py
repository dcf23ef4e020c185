"""Which stored points of a partition count: those of the copy that its anchor speaks of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.offsets.offset_map import interval_of, intervals, sync_points_of
from replication.state import Anchor, OffsetPoint

IDS = {"source_topic_id": "s1", "target_topic_id": "t1"}
ANCHOR = Anchor("A->B", "t", 0, "t", 300, 310, records=300, run=(7, 2, 200, 210, 200), **IDS)
FIRST = OffsetPoint("A->B", "t", 0, 0, era=7, number=0, source=0, target=0, records=0, **IDS)
SECOND = OffsetPoint("A->B", "t", 0, 1, era=7, number=2, source=200, target=210, records=200, **IDS)


def sources(points, anchor=ANCHOR) -> list[int]:
    return [each.source for each in sync_points_of(points, anchor)]


def test_points_count_in_the_order_of_their_numbers_and_the_anchor_last():
    assert sources([SECOND, FIRST]) == [0, 200, 300]


@pytest.mark.parametrize(
    "other",
    [{"era": 6}, {"source_topic_id": "s0"}, {"target_topic_id": "t0"}],
    ids=["another start of the copy", "another source topic", "another target topic"],
)
def test_points_of_another_incarnation_are_left_out(other):
    assert sources([replace(FIRST, **other), SECOND]) == [200, 300]


@pytest.mark.parametrize("unknown", [{"source_topic_id": ""}, {"target_topic_id": ""}])
def test_a_topic_id_that_is_not_known_rules_no_point_out(unknown):
    assert sources([replace(FIRST, **unknown), SECOND]) == [0, 200, 300]
    assert sources([FIRST, SECOND], replace(ANCHOR, **unknown)) == [0, 200, 300]


@pytest.mark.parametrize("field", ["source", "target", "records"])
def test_a_point_ahead_of_a_newer_one_is_left_out(field):
    ahead = replace(SECOND, number=1, **{field: 250})
    behind = replace(SECOND, number=1, source=150, target=160, records=150)
    assert sources([FIRST, ahead, SECOND]) == [0, 200, 300]
    assert sources([FIRST, behind, SECOND]) == [0, 150, 200, 300]


@pytest.mark.parametrize("unknown", [{"source": None}, {"target": None}])
def test_without_a_position_no_point_counts(unknown):
    assert sync_points_of([FIRST, SECOND], replace(ANCHOR, **unknown)) == ()


def test_an_offset_lies_in_the_last_interval_that_begins_at_or_before_it():
    gap = replace(SECOND, number=3, target=220)  # begins where the one before does
    later = replace(ANCHOR, target=320)
    listed = intervals(sync_points_of([FIRST, SECOND, gap], later), back=False)
    assert [interval_of(listed, each) for each in (-1, 0, 199, 200, 299, 300, 900)] == [
        *(0, 0, 0, 2, 2, 3, 3)
    ]
    back = intervals(sync_points_of([FIRST, SECOND, gap], later), back=True)
    assert [interval_of(back, each) for each in (0, 209, 210, 219, 220, 320)] == [0, 0, 1, 1, 2, 3]
