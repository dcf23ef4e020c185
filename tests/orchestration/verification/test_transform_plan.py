"""What is compared of a transform, and what the result says of its partitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestration.flows.comparison.compared_partition import TopicPair
from orchestration.verification.transform_plan import TransformToVerify, plan_transform
from orchestration.verification.transformed_topics import outcomes_of
from replication.model import OffsetRange, TopicPartition
from replication.records.compare_compacted import Compacted
from replication.settings.transform_settings import SettingText, TopicTransform
from replication.state import Anchor, TransformStart
from replication.verification.transformed import (
    ReadSpan,
    TransformedResult,
    TransformedSpans,
    TransformFinding,
    WrittenSpan,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
COPY = TopicPartition("A.t", 0)
PLAIN = Compacted(source=False, target=False)
START = TransformStart(
    "A->B", 0, "d", {"t": [100, None]}, {"t": "id"}, {"A.t": "copy"}, {"A.t": [40]}
)


def anchor(source: int) -> Anchor:
    return Anchor("A->B", "t", 0, "A.t", source, None)


KNOWN = TransformToVerify(
    0,
    TopicTransform("t", where=SettingText("a", "f:1"), batch_records=1_000),
    [TopicPair("t", "A.t", PLAIN)],
    START,
    {"t": "id"},
    {"A.t": "copy"},
    {T0: anchor(5_000), T1: anchor(5_000)},
    {T0: anchor(5_500)},
    {T0: OffsetRange(0, 9_000), T1: OffsetRange(0, 9_000)},
    {T0: 9_000, T1: 9_000},
    {COPY: OffsetRange(0, 3_000)},
    [11, 12],
    ("s", "d"),
)


def test_results_up_to_the_first_anchor_must_be_there_and_those_of_a_batch_may_be():
    spans = plan_transform(KNOWN).whole
    assert spans.read == (ReadSpan("t", 0, 100, 5_000, 6_500, "", "A.t"),)
    assert spans.written == (WrittenSpan("A.t", 0, 40, 3_000),)
    assert (spans.partitions, spans.producers, spans.definition) == ({"A.t": 1}, (11, 12), "d")
    assert TransformedSpans.of_json(spans.as_json()) == spans


def test_no_record_is_waited_for_that_the_source_does_not_give():
    spans = plan_transform(replace(KNOWN, readable={T0: 5_020})).whole
    assert (spans.read[0].required, spans.read[0].end) == (5_000, 5_020)


def test_what_retention_deleted_on_either_side_is_left_out_and_said():
    known = replace(
        KNOWN, starts={T0: OffsetRange(200, 9_000)}, there={COPY: OffsetRange(50, 3_000)}
    )
    spans = plan_transform(known).whole
    assert spans.read == (ReadSpan("t", 0, 200, 5_000, 6_500, "", "A.t", trimmed=True),)
    assert spans.written == (WrittenSpan("A.t", 0, 50, 3_000, trimmed=True),)


def test_the_copy_of_a_topic_that_the_source_deleted_is_left_out_and_routed_topics_are_not():
    targets = {"A.t": [40], "A.gone": [0], "routed": [0]}
    there = {TopicPartition(topic, 0): OffsetRange(0, 3_000) for topic in targets}
    start = replace(START, targets=targets, sources={**START.sources, "gone": [0]})
    transform = replace(KNOWN.transform, route_topics=("routed",))
    spans = plan_transform(replace(KNOWN, start=start, there=there, transform=transform)).whole
    assert [each.topic for each in spans.read] == ["t"]
    assert [each.topic for each in spans.written] == ["A.t", "routed"]
    assert spans.unread
    assert not plan_transform(KNOWN).whole.unread


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"start": None}, "where its present transform began is not stored yet"),
        ({"source_ids": {"t": "other"}}, "t was created again"),
        ({"target_ids": {"A.t": "other"}}, "A.t was created again"),
        ({"pairs": [TopicPair("t", "A.t", Compacted(source=False))]}, "A.t is compacted"),
        ({"pairs": [TopicPair("t", "A.t", Compacted(target=False))]}, "t is compacted"),
    ],
)
def test_what_cannot_be_compared_is_named(change, why):
    assert plan_transform(replace(KNOWN, **change)).startswith(why)


def test_differences_are_told_by_partition_and_what_is_no_difference_apart():
    found = (
        TransformFinding("same", 70, 0, 0, 100, 40),
        TransformFinding("lost", 2, 0, 0, 120, None),
        TransformFinding("different value", 1, 0, 0, 130, 60),
        TransformFinding("in flight", 5, 0, 0, 5_000, None),
        TransformFinding("cannot be transformed", 3, 0, None, 200, None),
        TransformFinding("repeated", 1, None, 0, None, 77),
    )
    assert TransformedResult.of_json(TransformedResult(found).as_json()).found == found
    plan = plan_transform(KNOWN)
    mine, target = outcomes_of("t", plan, [(plan.whole, TransformedResult(found))])
    assert (mine.source, mine.records, mine.differences) == ("t-0", 70, 3)
    assert mine.transformed
    assert mine.counts == {"lost": 2, "different value": 1}
    assert [each[1:] for each in mine.examples] == [(120, None), (130, 60)]
    assert sorted(mine.no_counterpart.values()) == [3, 5]
    assert (target.target, target.counts) == ("A.t-0", {"repeated": 1})
