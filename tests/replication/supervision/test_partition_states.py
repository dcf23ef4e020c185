"""The states and losses of partitions as operators see them."""

from __future__ import annotations

import pytest

from replication.model import PartitionState
from replication.settings.state_policies import Policies
from replication.state import Anchor, Loss
from replication.supervision.partition_states import (
    by_state,
    describe_loss,
    loss_summary,
    needing_no_action,
    needs_somebody,
    paused,
    worst,
)


def anchor(state: str, partition: int = 0) -> Anchor:
    return Anchor("A->B", "orders", partition, "A.orders", 1, 1, state=state, reason="why")


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("RUNNING", "PAUSED"),
        ("WAITING", "PAUSED"),
        ("TARGET_RESET", "TARGET_RESET"),
        ("NOT_SELECTED", "NOT_SELECTED"),
    ],
)
def test_a_partition_of_a_paused_flow_is_paused_unless_something_else_holds_it_up(state, shown):
    (found,) = paused([anchor(state)])
    assert (found.state, found.reason) == (shown, "" if shown == "PAUSED" else "why")


def test_the_worst_partition_is_one_about_which_somebody_has_to_do_something():
    states = ["RUNNING", "NOT_SELECTED", "REFUSED"]
    all_of_it = [anchor(state, number) for number, state in enumerate(states)]
    assert worst(all_of_it).state == "REFUSED"
    assert worst(all_of_it[:2]).state == "NOT_SELECTED"
    assert worst(all_of_it[:1]).state == "RUNNING"


def test_only_waiting_heals_by_itself():
    heals = {each for each in PartitionState if not needs_somebody(each)}
    assert heals == {"RUNNING", "PAUSED", "NOT_SELECTED", "WAITING"}


def test_a_deleted_topic_is_as_wanted_where_the_policy_only_reports_it():
    assert "SOURCE_DELETED" not in needing_no_action(Policies())
    assert "SOURCE_DELETED" in needing_no_action(Policies(source_deleted="continue"))


def test_topics_are_told_by_state_some_of_each_with_the_reason_of_the_first():
    topics = [("a", "WAITING"), *((f"t{n}", "REFUSED") for n in range(5))]
    assert by_state(topics, {"REFUSED": "too large"}) == (
        "REFUSED: t0, t1, t2 and 2 more (too large); WAITING: a"
    )


HOUR_MS = 3_600_000
NOW = 1_700_000_000_000  # 2023-11-14 22:13:20 UTC


def a_loss(first: int, at_ms: int, **rest: object) -> Loss:
    return Loss(
        "A->B", "orders", 2, "id", first, "LOST_RANGE", first + 5, "retention", at_ms, **rest
    )


def test_the_newest_loss_is_described_and_the_other_recent_ones_are_counted():
    losses = [a_loss(0, NOW - 2 * HOUR_MS), a_loss(10, NOW - 9_000), a_loss(20, NOW - 8_000)]
    passed, text = loss_summary(losses, NOW)
    newest = "2023-11-14 22:13:12 orders-2 offsets [20, 25) LOST_RANGE: retention"
    assert not passed
    assert text == f"{newest}, and 1 more; `isthmus losses FILE` lists all"
    assert ", and" not in loss_summary(losses[:2], NOW)[1]


def test_a_loss_of_an_hour_ago_is_counted_and_fails_nothing():
    losses = [a_loss(0, NOW - HOUR_MS)]
    assert loss_summary(losses, NOW) == (True, "no loss in the last hour; 1 losses recorded")
    assert not loss_summary(losses, NOW - 1)[0]


def test_a_loss_without_a_missing_offset_is_described_without_a_range():
    loss = Loss("A->B", "orders", 2, "id", 7, "SOURCE_RECREATED", 7, "was created again", NOW)
    assert describe_loss(loss) == "2023-11-14 22:13:20 orders-2 SOURCE_RECREATED: was created again"
