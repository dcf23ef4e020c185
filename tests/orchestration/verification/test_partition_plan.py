"""Which ranges of a partition are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestration.flows.comparison.compared_partition import Work
from orchestration.flows.comparison.compared_span import Span
from orchestration.flows.comparison.copy_positions import CopyPosition, LogStarts
from orchestration.verification.differences import suspects
from orchestration.verification.partition_plan import (
    PartitionToVerify,
    Selected,
    is_valid,
    plan_partition,
)
from replication.model import TopicPartition
from replication.records.batch_comparison import OffsetPair
from replication.records.compare_compacted import Compacted
from replication.records.comparison_result import PartitionFacts
from replication.state import Anchor, VerifiedUpTo
from replication.verification.ranges import RangeResult

HERE, THERE = TopicPartition("t", 0), TopicPartition("A.t", 0)
ANCHOR = Anchor(
    "A->B", "t", 0, "A.t", 10_000, 10_500, records=10_000, bytes=1_000_000,
    source_topic_id="s", target_topic_id="d", run=(7, 0, 0, 500, 0),
)  # fmt: skip
VERIFIED = VerifiedUpTo("A->B", "t", 0, "A.t", 4_000, 4_500, "s", "d", 7, 99)


def known(begins=(0, 500), **more):
    work = Work(HERE, THERE, 10_000, 10_500, 10_000, copied=CopyPosition(10_000))
    starts = LogStarts(*begins)
    span = Span(starts, starts, PartitionFacts(10_000, 10_000), {})
    return PartitionToVerify(**{"work": work, "span": span, "anchor": ANCHOR, "points": (), **more})


def spans(plan):
    return [(*each.here, *each.there) for each in plan.ranges]


def test_a_straight_copy_is_cut_by_the_size_of_its_records():
    plan = plan_partition(known(), Selected(), 400_000, 5)
    assert spans(plan) == [
        (0, 4_000, 500, 4_500), (4_000, 8_000, 4_500, 8_500), (8_000, 10_000, 8_500, 10_500)
    ]  # fmt: skip
    assert [each.number for each in plan.ranges] == [5, 6, 7]


def test_a_run_begins_behind_what_is_verified_unless_all_is_asked_for():
    there = known(verified=VERIFIED)
    plan = plan_partition(there, Selected(), 1 << 30, 0)
    assert spans(plan) == [(4_000, 10_000, 4_500, 10_500)]
    assert plan.continues
    assert spans(plan_partition(there, Selected(full=True), 1 << 30, 0)) == [
        (0, 10_000, 500, 10_500)
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"target_topic": "other"}, {"source_topic_id": "x"}, {"target_topic_id": "x"},
        {"era": 8}, {"source": 10_001}, {"target": 10_501}, {"source": 1_999},
    ],
    ids=str,
)  # fmt: skip
def test_a_verified_position_of_another_copy_or_one_that_was_deleted_does_not_count(change):
    begins = OffsetPair(2_000, 2_500)
    assert is_valid(VERIFIED, ANCHOR, begins)
    assert not is_valid(replace(VERIFIED, **change), ANCHOR, begins)


def test_a_compacted_partition_and_one_with_an_unknown_begin_are_compared_as_a_whole():
    compacted = known()
    work = replace(compacted.work, compacted=Compacted(source=False, target=True))
    assert plan_partition(compacted._replace(work=work), Selected(), 1, 0).whole
    unknown = replace(compacted.span, known=PartitionFacts(10_000, 10_000, source_deleted=3))
    assert plan_partition(compacted._replace(span=unknown), Selected(), 1, 0).whole


def test_a_sample_has_at_least_one_range_and_says_how_many_it_left_out():
    plan = plan_partition(known(), Selected(sample=0.0001, seed=1), 100_000, 0)
    assert (len(plan.ranges), plan.skipped) == (1, 9)


def test_times_choose_whole_ranges():
    timed = known(times=(4_500, 8_500))
    assert spans(plan_partition(timed, Selected(), 400_000, 0)) == [
        (4_000, 8_000, 4_500, 8_500), (8_000, 10_000, 8_500, 10_500)
    ]  # fmt: skip


def test_neighbours_that_differ_are_looked_into_together_from_the_range_before_on():
    ranges = plan_partition(known(), Selected(), 100_000, 0).ranges
    results = {n: RangeResult(n, n not in {2, 3, 6}, 1_000) for n in range(10)}
    first, second = suspects(ranges, results)
    assert (first.begin, first.end, first.context) == (
        OffsetPair(1_000, 1_500),
        OffsetPair(4_000, 4_500),
        1,
    )
    assert (second.begin, second.end) == (OffsetPair(5_000, 5_500), OffsetPair(7_000, 7_500))
    results[2] = RangeResult(2, equal=False, mark=(2_100, 2_600, 100))
    assert suspects(ranges, results)[0][:3] == (
        OffsetPair(2_100, 2_600),
        OffsetPair(4_000, 4_500),
        100,
    )
