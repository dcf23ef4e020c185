"""What the loss of a source would cost: of partitions, topics and groups, and since when."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from replication.model import PartitionState, TopicPartition
from replication.settings.naming_settings import Selection
from replication.state import AbsentTopic, Anchor, GroupPositions, ProvenPosition
from replication.supervision.lag import FlowLag, flow_lag, with_absent
from replication.supervision.recovery_point import (
    MissingOfGroup,
    RecoveryPoint,
    anchored,
    evaluate_slo,
    recovery_point,
    selected_groups,
    unplaced,
    without_gone,
)

HERE = TopicPartition("t", 0)
ANCHOR = Anchor(
    "A->B",
    "t",
    0,
    "A.t",
    90,
    90,
    records=90,
    bytes=9000,
    source_end=120,
    behind_ms=2500,
    at_ms=7700,
)
OTHER = replace(ANCHOR, partition=1, source=50, source_end=50, behind_ms=0, at_ms=5500)
LIMIT = timedelta(seconds=10)


def point_of(*anchors: Anchor, ends=None, now_ms=10_000, groups=()) -> RecoveryPoint:
    """Return the point of anchors; ``ends``: the source answers, and tells these."""
    lag = flow_lag(anchors, ends or {}, now_ms)
    return recovery_point(anchored(anchors), groups, lag, now_ms)


def test_what_was_seen_and_not_copied_may_be_missing():
    point = point_of(ANCHOR)
    (missing,) = point.partitions
    assert (missing.first, missing.records, missing.bytes) == (90, 30, 3000)
    assert (point.records, point.seconds, point.seen_ms) == (30, 2.5, 7700)


def test_records_counted_behind_the_anchor_are_not_missing_but_their_offsets_are_not_exact():
    (missing,) = recovery_point([ProvenPosition.behind(ANCHOR, "op", 12, 105)]).partitions
    assert (missing.first, missing.records, missing.exact) == (102, 18, False)


def test_bytes_of_a_partition_that_nothing_was_copied_of_are_those_of_its_topic_or_of_all():
    fresh = replace(ANCHOR, partition=2, source=0, records=0, bytes=0, source_end=10)
    users = replace(ANCHOR, topic="users", bytes=27_000)
    orders = replace(fresh, topic="orders")
    found = point_of(ANCHOR, fresh, users, orders)
    by_topic = {(e.partition.topic, e.partition.partition): e.bytes for e in found.partitions}
    assert by_topic["t", 2] == 10 * 100
    assert by_topic["orders", 2] == 10 * 200
    assert point_of(fresh).bytes == 0, "no size of a record is known"


def test_a_partition_without_lag_misses_nothing_that_was_seen():
    idle = point_of(Anchor("A->B", "t", 0, "t", 5, 5, source_end=5, behind_ms=9))
    assert (idle.records, idle.seconds) == (0, 0.0)


def test_while_the_source_answers_the_number_is_that_of_its_ends_now():
    point = point_of(ANCHOR, OTHER, ends={HERE: 140, TopicPartition("t", 1): 50})
    assert [each.records for each in point.partitions] == [50, 0]
    assert (point.bytes, point.seconds) == (5000, 4.8), "since 2.5 s before the anchor"
    assert (point.seen_ms, point.unknown_since_ms) == (10_000, None)


def test_a_partition_whose_end_is_not_known_counts_as_last_seen_and_the_point_says_since_when():
    point = point_of(ANCHOR, OTHER, ends={HERE: 140})
    assert [each.records for each in point.partitions] == [50, 0]
    assert point.unknown_since_ms == OTHER.at_ms
    assert point_of(ANCHOR, OTHER).unknown_since_ms == OTHER.at_ms
    assert point_of(ANCHOR, OTHER).seen_ms == ANCHOR.at_ms


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        (PartitionState.SOURCE_DELETED, False),
        (PartitionState.NOT_SELECTED, False),
        (PartitionState.SOURCE_DENIED, True),
        (PartitionState.REFUSED, True),
    ],
)
def test_of_topics_that_are_gone_nothing_is_missing_before_and_after_a_failover(state, counts):
    assert bool(point_of(replace(ANCHOR, state=state)).partitions) is counts
    positions = [ProvenPosition.behind(ANCHOR, "op")]
    anchors = with_absent([ANCHOR], [AbsentTopic("A->B", "t", state, "why", 1)])
    assert bool(list(without_gone(positions, anchors))) is counts
    lost = replace(ANCHOR, state=state, source=None)
    assert bool(unplaced([lost])) is counts


def test_a_partition_without_a_position_is_named_unless_it_is_empty():
    lost = replace(ANCHOR, source=None)
    assert point_of(lost) == RecoveryPoint()
    assert unplaced([OTHER, lost]) == (HERE,)
    for end in (0, 1):
        lag = flow_lag([lost], {HERE: end}, 10_000)
        assert unplaced([lost], lag) == ((HERE,) if end else ())


def test_what_has_no_position_is_told_beside_the_numbers():
    point = replace(point_of(ANCHOR), unplaced=(TopicPartition("t", 7), TopicPartition("u", 1)))
    assert point.loss == (
        "30 records, about 3,000 bytes, 2.5 s, and all of 2 partitions without a position"
    )
    assert point.as_data()["partitions_without_position"] == ["t-7", "u-1"]
    assert point.topic("u").unplaced == (TopicPartition("u", 1),)


def test_of_a_group_what_it_had_not_read_counts():
    stored = [
        GroupPositions("A->B", "slow", (("t", 0, 10), ("t", 1, 0), ("unknown", 0, 1)), 5),
        GroupPositions("A->B", "fast", (("t", 0, 100),), 6),
        GroupPositions("A->B", "ahead", (("t", 0, 130),), 7),
    ]
    point = point_of(ANCHOR, OTHER, groups=stored)
    assert point.groups == (
        MissingOfGroup("ahead", 0, 0, 0.0, 7),
        MissingOfGroup("fast", 20, 2000, 2.5, 6),
        MissingOfGroup("slow", 30, 3000, 2.5, 5),
    )
    live = point_of(ANCHOR, OTHER, ends={HERE: 140, TopicPartition("t", 1): 60}, groups=stored)
    assert [(each.group, each.records) for each in live.groups] == [
        ("ahead", 10),
        ("fast", 40),
        ("slow", 60),
    ]


def test_a_topic_has_its_own_number():
    users = replace(ANCHOR, topic="users", source_end=91)
    point = point_of(ANCHOR, users)
    assert [point.topic(each).records for each in ("t", "users", "none")] == [30, 1, 0]


def test_groups_that_the_file_does_not_select_any_more_are_left_out():
    groups = [GroupPositions("A->B", name) for name in ("shop", "old")]
    (found,) = selected_groups(groups, Selection(groups=("sh.*",)))
    assert found.group == "shop"


def verdict_of(*anchors: Anchor, ends=None, up_s=1.0, silence=None, seen=None, now_ms=10_000):
    """Return the verdict; ``seen``: when each partition was last seen with nothing to copy."""
    lag = flow_lag(anchors, ends or {}, now_ms, seen)
    point = recovery_point(anchored(anchors), (), lag, now_ms)
    return evaluate_slo(point, lag, LIMIT, up_s, silence)


def test_the_objective_is_met_while_no_record_that_could_be_lost_is_older():
    found = verdict_of(ANCHOR, ends={HERE: 120})
    assert found.passed
    assert found.reason == "a failover would lose 30 records, about 3,000 bytes, 4.8 s, limit 10 s"
    assert (
        verdict_of(ANCHOR, ends={HERE: 90}).reason == "a failover would lose 0 records, limit 10 s"
    )
    late = verdict_of(ANCHOR, OTHER, ends={HERE: 120, TopicPartition("t", 1): 50}, now_ms=30_000)
    assert not late.passed
    assert late.reason == (
        "a failover would lose records that are older than 10 s in 1 of 2 partitions; worst: t-0, "
        "25 s, 30 records"
    )


@pytest.mark.parametrize("now_ms", [14_000, 16_000])
def test_while_the_source_is_silent_it_is_met_as_long_as_no_record_can_be_older(now_ms):
    found = verdict_of(OTHER, silence="source cluster A did not answer", now_ms=now_ms)
    assert found.passed is (now_ms == 14_000)
    assert found.reason.startswith(
        "RPO is not known since 1970-01-01 00:00:05 UTC: source cluster A did not answer"
    )
    assert found.reason.endswith("; as last seen 0 records")


def test_a_partition_that_was_never_copied_would_be_lost_as_a_whole():
    waiting = replace(ANCHOR, source=None)
    assert verdict_of(waiting, ends={HERE: 5}, up_s=5).passed
    late = verdict_of(waiting, ends={HERE: 5}, up_s=15)
    assert not late.passed
    assert "would lose all of 1 of 1 partitions" in late.reason


def test_of_a_target_that_is_silent_nothing_is_known():
    found = evaluate_slo(RecoveryPoint(), FlowLag(), LIMIT, 1.0, "target cluster B is silent")
    assert not found.passed
    assert found.reason == "RPO is not known: target cluster B is silent"
