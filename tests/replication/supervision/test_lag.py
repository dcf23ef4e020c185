from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.model import TopicPartition
from replication.state import AbsentTopic, Anchor
from replication.supervision.lag import (
    FlowLag,
    PartitionLag,
    caught_up,
    evaluate_sla,
    flow_lag,
    last_known,
    standing,
    unknown_lag,
    with_absent,
)

P0 = TopicPartition("orders", 0)
HOUR_MS = 3_600_000
NOW = 10 * HOUR_MS


def anchor(source: int | None = 100, **rest: object) -> Anchor:
    values = {"target": 100, "source_end": 100, "at_ms": NOW - 1000, **rest}
    return Anchor("A->B", "orders", 0, "A.orders", source, **values)


def lag_of(anchor: Anchor, end: int | None, seen_ms: int = 0) -> PartitionLag:
    ends = {} if end is None else {P0: end}
    return flow_lag([anchor], ends, NOW, {P0: seen_ms}).partitions[0]


def test_a_partition_with_nothing_to_copy_is_not_behind_however_long_it_was_idle():
    """BL-140."""
    assert lag_of(anchor(at_ms=NOW - HOUR_MS), end=100) == PartitionLag(P0, 0, 0.0)


def test_a_topic_that_retention_emptied_is_not_behind():
    """BL-140."""
    assert lag_of(anchor(source=500, at_ms=NOW - HOUR_MS), end=500) == PartitionLag(P0, 0, 0.0)


def test_lag_in_seconds_grows_while_nobody_copies():
    stopped = anchor(at_ms=NOW - 30_000, behind_ms=2_000)
    assert lag_of(stopped, end=150) == PartitionLag(P0, 50, 32.0)


def test_the_first_record_after_an_idle_hour_is_not_an_hour_behind():
    idle = anchor(at_ms=NOW - HOUR_MS)
    assert lag_of(idle, end=101, seen_ms=NOW - 3_000) == PartitionLag(P0, 1, 3.0)


@pytest.mark.parametrize("source", [90, 100])
def test_bl_229_without_the_sources_end_lag_is_not_known_whatever_the_copier_saw_last(source):
    cut = anchor(source=source, source_end=100, at_ms=NOW - 120_000, behind_ms=5_000)
    assert lag_of(cut, end=None) == PartitionLag(P0, None, None, NOW - 120_000, 125.0)
    lag = flow_lag([cut], {}, NOW, {P0: NOW - 110_000}, {P0: NOW - 109_000})
    assert lag.partitions == (PartitionLag(P0, None, None, NOW - 109_000, 110.0),)
    assert (lag.seconds, lag.unknown) == (None, ())
    assert lag.unknown_since == "not known since 1970-01-01 09:58:11 UTC"


def test_bl_229_a_look_without_the_sources_end_never_counts_as_caught_up():
    idle = anchor(at_ms=NOW - HOUR_MS)
    before, known = {P0: NOW - 70_000}, {P0: NOW - 70_000}
    for now in (NOW - 60_000, NOW - 1_000):
        cut = flow_lag([idle], {}, now, before, known)
        before, known = caught_up(before, cut, now), last_known(known, cut, now)
    through = flow_lag([idle], {P0: 150}, NOW, before, known)
    assert through.partitions == (PartitionLag(P0, 50, 70.0),), "from the cut's begin on"


def test_bl_229_while_the_target_is_silent_what_is_remembered_is_kept():
    lag = unknown_lag({P0: NOW - 70_000}, {P0: NOW - 65_000}, NOW)
    assert lag.partitions == (PartitionLag(P0, None, None, NOW - 65_000, 70.0),)
    assert caught_up({P0: NOW - 70_000}, lag, NOW) == {P0: NOW - 70_000}
    assert last_known({P0: NOW - 65_000}, lag, NOW) == {P0: NOW - 65_000}


@pytest.mark.parametrize(("cut_s", "passed"), [(59, True), (61, False)])
def test_bl_229_the_limit_is_kept_only_while_no_partition_can_be_behind_by_more(cut_s, passed):
    at_ms = NOW - cut_s * 1000
    lag = flow_lag([anchor()], {}, NOW, {P0: at_ms}, {P0: at_ms})
    lag = FlowLag(tuple(replace(each, at_most_s=float(cut_s)) for each in lag.partitions))
    verdict = evaluate_sla(lag, timedelta(seconds=60), 999, "source cluster A did not answer")
    assert verdict.passed is passed
    at = "09:59:01" if passed else "09:58:59"
    assert verdict.reason.startswith(
        f"lag is not known since 1970-01-01 {at} UTC: source cluster A did not answer"
    )
    assert "0.0 s behind" not in verdict.reason


def test_bl_229_a_silent_target_of_which_nothing_is_remembered_keeps_no_promise():
    verdict = evaluate_sla(FlowLag(), timedelta(seconds=60), 0, "target cluster B did not answer")
    assert verdict.passed is False
    assert verdict.reason == "lag is not known: target cluster B did not answer"


def test_bl_229_a_partition_without_a_leader_is_named():
    verdict = evaluate_sla(flow_lag([anchor()], {}, NOW), timedelta(seconds=60), 999)
    assert "the source returns no end offset of orders-0: it has no leader" in verdict.reason


def test_an_end_that_is_older_than_the_anchor_gives_no_negative_lag():
    assert lag_of(anchor(source=100), end=99) == PartitionLag(P0, 0, 0.0)


def test_a_clock_that_is_ahead_gives_no_negative_lag():
    assert lag_of(anchor(source=99, at_ms=NOW + 5_000), end=100).seconds == 0


def test_a_partition_without_a_position_is_unknown_and_not_zero():
    lag = flow_lag([anchor(source=None, target=None)], {P0: 7}, NOW)
    assert lag.partitions == (PartitionLag(P0, None, None),)
    assert lag.unknown == (P0,)
    assert lag.seconds is None


def test_a_partition_that_was_never_written_needs_no_position():
    assert flow_lag([anchor(source=None, target=None)], {P0: 0}, NOW).unknown == ()


def test_a_flow_is_as_late_as_its_worst_partition():
    lag = FlowLag((PartitionLag(P0, 1, 2.0), PartitionLag(TopicPartition("b", 0), 5, 9.0)))
    assert (lag.records, lag.seconds) == (6, 9.0)
    assert lag.topic("b").seconds == 9.0


def test_idleness_is_remembered_until_the_partition_is_gone():
    idle, busy = FlowLag((PartitionLag(P0, 0, 0.0),)), FlowLag((PartitionLag(P0, 5, 1.0),))
    assert caught_up({}, idle, 7) == {P0: 7}
    assert caught_up({P0: 7}, busy, 9) == {P0: 7}
    assert caught_up({P0: 7}, FlowLag(), 9) == {}


@pytest.mark.parametrize(
    ("partition", "up_s", "passed", "reason"),
    [
        pytest.param(PartitionLag(P0, 5, 59.9), 99, True, "59.9 s behind, limit 60 s", id="just"),
        pytest.param(PartitionLag(P0, 5, 60.0), 99, True, "60.0 s behind, limit 60 s", id="at it"),
        pytest.param(
            PartitionLag(P0, 5, 61.0),
            99,
            False,
            "1 of 1 partitions are more than 60 s behind; worst: orders-0, 61 s, 5 records",
            id="late",
        ),
        pytest.param(
            PartitionLag(P0, None, None),
            99,
            False,
            "1 of 1 partitions have no copy position after 99 s, for example orders-0",
            id="unknown for long",
        ),
        pytest.param(
            PartitionLag(P0, None, None),
            9,
            True,
            "1 partitions have no copy position yet, limit 60 s",
            id="young",
        ),
        pytest.param(
            PartitionLag(P0, None, None),
            60,
            True,
            "1 partitions have no copy position yet, limit 60 s",
            id="unknown, at it",
        ),
    ],
)
def test_the_lag_limit(partition, up_s, passed, reason):
    verdict = evaluate_sla(FlowLag((partition,)), timedelta(seconds=60), up_s)
    assert (verdict.passed, verdict.reason) == (passed, reason)


@given(
    source=st.integers(0, 1000),
    end=st.integers(0, 1000),
    at_ms=st.integers(0, 2 * NOW),
    behind_ms=st.integers(0, NOW),
    seen_ms=st.integers(0, NOW),
)
def test_lag_is_never_negative_and_has_seconds_only_with_records(
    source, end, at_ms, behind_ms, seen_ms
):
    lag = lag_of(anchor(source, at_ms=at_ms, behind_ms=behind_ms), end, seen_ms)
    assert lag.records >= 0
    assert lag.seconds >= 0
    assert lag.records > 0 or lag.seconds == 0


def test_bl_092_partitions_that_a_topic_recreated_has_no_longer_are_nobodys_lag():
    old = replace(anchor(source=90, source_topic_id="old", at_ms=NOW - HOUR_MS), partition=1)
    new = anchor(source_topic_id="new")
    assert standing([old, new], {P0: 100}) == (new,)
    leaderless = replace(old, source_topic_id="new")
    unknown = replace(old, source_topic_id="")
    for each in (leaderless, unknown):
        assert standing([each, new], {P0: 100}) == (each, new)
    assert standing([old], {}) == (old,), "a topic that is away may come back"


@pytest.mark.parametrize("state", ["SOURCE_DELETED", "SOURCE_DENIED", "NOT_SELECTED"])
def test_a_topic_that_is_not_copied_any_more_has_its_state_and_no_lag(state):
    other = replace(anchor(source=90, state="RUNNING"), topic="clicks")
    before = (other, anchor(source=40, state="RUNNING", reason="source has no leader"))
    records = [
        AbsentTopic("A->B", "orders", state, "its copy is kept", NOW),
        AbsentTopic("A->B", "clicks", at_ms=NOW),  # it is back
    ]
    clicks, orders = with_absent(before, records)
    assert clicks == other
    assert (orders.state, orders.reason) == (state, "its copy is kept")
    lag = flow_lag((clicks, orders), {P0: 100}, NOW)
    assert [each.partition.topic for each in lag.partitions] == ["clicks"]
    assert evaluate_sla(lag, timedelta(seconds=60), up_s=900).passed
