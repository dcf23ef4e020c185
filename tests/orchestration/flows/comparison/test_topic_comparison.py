"""What a flow's anchors mean for a comparison, and what all results say together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fakes.memory_admin import MemoryClients, MemoryCluster
from support.settings.configs import a_config, a_flow

from orchestration.flows.comparison.compared_partition import PartitionResult, Work
from orchestration.flows.comparison.compared_span import is_explained, span_of
from orchestration.flows.comparison.comparison_verdict import (
    ComparisonReport,
    ComparisonRow,
    ComparisonVerdict,
    NotFound,
    UncopiedRow,
)
from orchestration.flows.comparison.copy_positions import (
    UNKNOWN,
    Begins,
    ClusterTopicIds,
    CopyPosition,
    FlowPositions,
    LogStarts,
    begins_of,
    copied_of,
    start_of,
    tail_begins,
)
from orchestration.flows.comparison.flow_comparison import (
    UncopiedPartition,
    selector_in_use,
    uncopied,
)
from replication.model import Mode, PartitionState, TopicPartition
from replication.offsets.offset_map import BEFORE_US, NOT_YET, Answer, SyncPoint
from replication.records.compare_compacted import Compacted
from replication.records.comparison_result import (
    Comparison,
    DifferenceKind,
    Example,
    Limits,
    NoCounterpart,
)
from replication.settings.naming_settings import Naming
from replication.state import Anchor, NameDecision

HERE, THERE = TopicPartition("t", 0), TopicPartition("A.t", 0)
ANCHOR = Anchor("A->B", "t", 0, "A.t", 100, 90, state=PartitionState.RUNNING)
WORK = Work(HERE, THERE, 120, 100, 120, copied=CopyPosition(100))


def test_an_anchor_says_how_far_its_partition_is_copied():
    assert copied_of(ANCHOR, THERE, ("", "")) == CopyPosition(100)
    transactional = replace(ANCHOR, mode=Mode.TRANSACTIONAL)
    assert copied_of(transactional, THERE, ("", "")).transactional


@pytest.mark.parametrize(
    ("anchor", "remark"),
    [
        (None, "the flow has no anchor of it"),
        (replace(ANCHOR, source=None), "the flow has not started to copy it"),
        (replace(ANCHOR, target_topic="t"), "its anchor is of the target topic t"),
        (replace(ANCHOR, source_topic_id="old"), "the source topic was created again"),
        (replace(ANCHOR, target_topic_id="old"), "the target topic was created again"),
    ],
)
def test_where_an_anchor_says_nothing_of_a_partition_the_reason_is_given(anchor, remark):
    found = copied_of(anchor, THERE, ("new", "new"))
    assert found.source is None
    assert found.remark.startswith(remark)


@pytest.mark.parametrize("state", PartitionState)
def test_a_partition_is_halted_in_all_states_but_those_that_go_on(state):
    found = copied_of(replace(ANCHOR, state=state, reason="why"), THERE, ("", ""))
    goes_on = state in {"RUNNING", "WAITING", "PAUSED"}
    assert found.halted == ("" if goes_on else f"{state}: why")


POINT = SyncPoint(40, 30, 0, "", "", "")


@pytest.mark.parametrize(
    ("points", "anchor", "target_start", "shared", "start"),
    [
        pytest.param([POINT], ANCHOR, 30, False, 40, id="nothing is before it on the target"),
        pytest.param([POINT], ANCHOR, 0, False, 0, id="records are before it on the target"),
        pytest.param([POINT], ANCHOR, 0, True, 40, id="they are of others"),
        pytest.param([], ANCHOR, 30, False, 0, id="unknown"),
        pytest.param([replace(POINT, records=5)], ANCHOR, 30, False, 0, id="a later point"),
        pytest.param([POINT], replace(ANCHOR, since=(40, 30)), 30, False, 0, id="taken over"),
    ],
)
def test_the_copy_started_where_its_first_point_is(points, anchor, target_start, shared, start):
    assert start_of(points, anchor, target_start, shared=shared) == start


@pytest.mark.parametrize(
    ("more", "own", "begins"),
    [
        pytest.param({"former": "t"}, False, (40, 30), id="renamed"),
        pytest.param({}, True, (40, 30), id="taken over, only own records are compared"),
        pytest.param({}, False, (0, 0), id="taken over, all records are compared"),
    ],
)
def test_copies_that_are_not_among_the_compared_ones_are_not_missed(more, own, begins):
    positions = FlowPositions(a_flow(), ClusterTopicIds(), shared=own, own=own)
    try:
        positions.reader.known.learn([replace(ANCHOR, since=(40, 30), **more)])
        found = positions.begins(HERE, LogStarts(0, 0))
    finally:
        positions.close()
    assert (found.source, found.target) == begins
    assert found.start == begins


START = LogStarts(5, 0)


@pytest.mark.parametrize(
    ("answers", "begins"),
    [
        pytest.param((None, None), (10, 20), id="retention deleted nothing"),
        pytest.param((Answer(50), Answer(60)), (50, 60), id="the starts are translated"),
        pytest.param((NOT_YET, NOT_YET), (100, 90), id="all that was copied is deleted"),
        pytest.param((BEFORE_US, BEFORE_US), (None, None), id="unknown"),
        pytest.param((Answer(50, exact=False), None), (None, 20), id="compacted"),
    ],
)
def test_logs_are_compared_from_where_both_have_records(answers, begins):
    assert begins_of(LogStarts(10, 20), answers, ANCHOR, START) == Begins(*begins, START)


@pytest.mark.parametrize(
    ("there", "begins"),
    [
        pytest.param(Answer(60), Begins(70, 60, LogStarts(70, 60)), id="known"),
        pytest.param(Answer(60, exact=False), None, id="compacted"),
        pytest.param(NOT_YET, None, id="not copied"),
    ],
)
def test_a_tail_is_compared_from_where_its_first_record_is_known_exactly(there, begins):
    assert tail_begins(70, there) == begins


def test_of_a_tail_all_that_is_before_it_is_counted_apart():
    span = span_of(WORK, LogStarts(10, 20), Begins(70, 60, LogStarts(70, 60)))
    assert span.begins == (70, 60)
    assert span.no_counterpart[NoCounterpart.BEFORE_START] == 100
    assert (
        not span.no_counterpart[NoCounterpart.DELETED_ON_SOURCE]
        + span.no_counterpart[NoCounterpart.DELETED_ON_TARGET]
    )


def test_what_stands_before_the_common_beginning_is_counted_by_its_reason():
    span = span_of(WORK, LogStarts(10, 20), Begins(50, 45, LogStarts(30, 0)))
    assert span.begins == (50, 45)
    assert span.no_counterpart == {
        NoCounterpart.BEFORE_START: 20,
        NoCounterpart.DELETED_ON_TARGET: 20,
        NoCounterpart.DELETED_ON_SOURCE: 25,
    }
    assert (span.known.copied, span.known.source_end) == (100, 120)
    assert (span.known.source_deleted, span.known.target_deleted) == (0, 0)


@pytest.mark.parametrize("work", [WORK, replace(WORK, compacted=Compacted())])
def test_what_a_renamed_topic_held_before_is_no_deletion_and_no_difference(work):
    span = span_of(work, LogStarts(0, 0), Begins(60, 50, LogStarts(60, 50)))
    assert span.begins == (60, 50)
    assert span.no_counterpart == {
        NoCounterpart.BEFORE_START: 110,
        NoCounterpart.DELETED_ON_TARGET: 0,
        NoCounterpart.DELETED_ON_SOURCE: 0,
    }


def test_nothing_is_counted_behind_the_ends():
    span = span_of(WORK, LogStarts(0, 0), Begins(500, 400, LogStarts(300, 0)))
    assert span.begins == (120, 100)
    assert span.no_counterpart[NoCounterpart.BEFORE_START] == 120
    assert sum(span.no_counterpart.values()) == 220


@pytest.mark.parametrize("work", [WORK, replace(WORK, compacted=Compacted())])
def test_an_unknown_beginning_is_left_to_the_comparison(work):
    begins = UNKNOWN if work is WORK else Begins(50, 45)
    span = span_of(work, LogStarts(10, 20), begins)
    assert span.begins == span.starts
    assert (span.known.source_deleted, span.known.target_deleted) == (10, 20)


def test_without_positions_every_record_must_be_there():
    span = span_of(WORK, LogStarts(10, 20), None)
    assert (span.begins, span.no_counterpart) == ((10, 20), {})
    assert (span.known.source_deleted, span.known.target_deleted) == (0, 0)


@pytest.mark.parametrize(
    ("example", "explained"),
    [
        (Example(49, None), True),
        (Example(50, None), False),
        (Example(None, 44), True),
        (Example(None, 45), False),
        (Example(50, 44), True),
    ],
)
def test_retention_explains_differences_before_the_common_beginning(example, explained):
    found = Comparison()
    found.note(DifferenceKind.LOST, example, Limits())
    assert is_explained(span_of(WORK, LogStarts(10, 20), Begins(50, 45)), found) is explained


def test_partitions_are_late_while_their_anchors_are_behind_the_ends():
    others = [TopicPartition("t", number) for number in range(1, 4)]
    ends = {HERE: 10, others[0]: 10, others[1]: 10, others[2]: 0}
    copied = {
        HERE: CopyPosition(10),
        others[0]: CopyPosition(9),
        others[1]: CopyPosition(),
        others[2]: CopyPosition(),
    }
    assert uncopied(ends, copied) == [
        UncopiedPartition(others[0], 10, 9),
        UncopiedPartition(others[1], 10, None),
    ]


def row(
    work: Work = WORK, *, equal: int = 0, lost: int = 0, **no_counterpart: int
) -> ComparisonRow:
    found = Comparison(equal + lost, equal, equal)
    for _ in range(lost):
        found.note(DifferenceKind.LOST, Example(0, None), Limits())
    found.no_counterpart.update(
        {NoCounterpart[name.upper()]: count for name, count in no_counterpart.items()}
    )
    return ComparisonRow("A->B", PartitionResult(work, found), ("A", "B"))


MISSING = replace(WORK, on_target=False)
HALTED = replace(WORK, copied=CopyPosition(100, halted="REFUSED: too large"))


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        pytest.param([row(equal=5)], ComparisonVerdict.EQUAL, id="equal"),
        pytest.param(
            [row(equal=5, in_flight=3)], ComparisonVerdict.EQUAL, id="the rest is in flight"
        ),
        pytest.param(
            [row(equal=5), row()], ComparisonVerdict.EQUAL, id="an empty partition beside"
        ),
        pytest.param([row(equal=5, deleted_on_target=7)], ComparisonVerdict.EQUAL, id="retention"),
        pytest.param([row(), row()], ComparisonVerdict.EMPTY, id="empty on both sides"),
        pytest.param([row(equal=5, lost=1)], ComparisonVerdict.DIFFERENT, id="lost"),
        pytest.param(
            [row(equal=5), row(MISSING)], ComparisonVerdict.DIFFERENT, id="a missing partition"
        ),
        pytest.param(
            [row(MISSING)], ComparisonVerdict.DIFFERENT, id="a missing topic without records"
        ),
        pytest.param(
            [row(HALTED, equal=5)], ComparisonVerdict.EQUAL, id="halted when all was copied"
        ),
        pytest.param(
            [row(HALTED, equal=5, in_flight=1)], ComparisonVerdict.INCOMPLETE, id="halted before"
        ),
        pytest.param([], ComparisonVerdict.NOTHING, id="no topic"),
        pytest.param([row(in_flight=3)], ComparisonVerdict.NOTHING, id="all is in flight"),
        pytest.param([row(deleted_on_source=3)], ComparisonVerdict.NOTHING, id="all is deleted"),
        pytest.param([row(of_others=3)], ComparisonVerdict.NOTHING, id="only records of others"),
    ],
)
def test_nothing_that_was_compared_is_never_equal(rows, verdict):
    assert ComparisonReport(rows).verdict is verdict
    assert verdict.good == (verdict in {ComparisonVerdict.EQUAL, ComparisonVerdict.EMPTY})


def test_what_was_waited_for_or_asked_for_by_name_makes_an_equal_result_incomplete():
    late_one = UncopiedRow("A->B", UncopiedPartition(HERE, 10, 5))
    assert (
        ComparisonReport([row(equal=5)], uncopied=[late_one]).verdict
        is ComparisonVerdict.INCOMPLETE
    )
    assert (
        ComparisonReport([row(lost=5)], uncopied=[late_one]).verdict is ComparisonVerdict.DIFFERENT
    )
    assert (
        ComparisonReport([row(equal=5)], [NotFound("B->A", "none")]).verdict
        is ComparisonVerdict.EQUAL
    )
    named = NotFound("B->A", "none", named=True)
    assert ComparisonReport([row(equal=5)], [named]).verdict is ComparisonVerdict.INCOMPLETE


def test_records_of_others_can_be_accepted():
    found = Comparison(1, 2, 1)
    found.note(DifferenceKind.EXTRA, Example(None, 1), Limits())
    rows = [ComparisonRow("A->B", PartitionResult(WORK, found))]
    assert ComparisonReport(rows).verdict is ComparisonVerdict.DIFFERENT
    assert ComparisonReport(rows, foreign_ok=True).verdict is ComparisonVerdict.EQUAL


def test_a_flow_is_compared_under_the_names_in_use_and_without_copies_that_come_from_its_target():
    dash = {"naming": Naming(separator="-")}
    there, back = (a_flow(*each).model_copy(update=dash) for each in ("AB", "BA"))
    config = a_config(there, back)
    source, target = MemoryCluster({"orders": 1}), MemoryCluster({"A.orders": 1, "users": 1})
    clients = MemoryClients({"A": source, "B": target})
    copied = Anchor("A->B", "orders", 0, "A.orders", 5, 5, records=5)
    kept = NameDecision("A->B", "orders", "A.orders", "A-orders", "keep")
    clients.records.write("isthmus-anchors.A.internal", copied)
    clients.records.write("isthmus-status.A.internal", kept)
    assert selector_in_use(there, config, clients).remote_topic("orders") == "A.orders"
    assert selector_in_use(back, config, clients).selected(target.topics()) == ("users",)
