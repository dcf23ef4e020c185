"""Which partitions of a transform are placed, run, or wait for an operator."""

from __future__ import annotations

import pytest
from support.settings.configs import a_flow

from replication.model import Choice, PartitionPlan, PartitionState, TopicPartition
from replication.state import Anchor
from spark_jobs.transform.run.run_positions import RunPositions

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def an_anchor(state: PartitionState = PartitionState.RUNNING, reason: str = "") -> Anchor:
    return Anchor("A->B", "orders", 0, "A.orders", 7, 9, state=state, reason=reason)


def plans(decision: Choice | None = None) -> dict[TopicPartition, PartitionPlan]:
    first = PartitionPlan(FIRST, TopicPartition("A.orders", 0), decision=decision)
    return {FIRST: first, SECOND: PartitionPlan(SECOND, TopicPartition("A.orders", 1))}


@pytest.fixture
def positions() -> RunPositions:
    return RunPositions(a_flow(), None)


def test_what_was_placed_runs_and_what_is_new_is_to_be_placed(positions):
    assert positions.unplaced(plans()) == {FIRST, SECOND}
    positions.advance(FIRST, an_anchor())
    assert positions.unplaced(plans()) == {SECOND}
    assert positions.running(plans()) == {FIRST: an_anchor()}
    assert positions.running({SECOND: plans()[SECOND]}) == {}, "it is not to be transformed"


@pytest.mark.parametrize(
    ("state", "position", "again"),
    [
        pytest.param(PartitionState.TRANSFORM_FAILED, 7, True, id="this state, here"),
        pytest.param(PartitionState.TRANSFORM_FAILED, 6, False, id="an earlier time"),
        pytest.param(PartitionState.LOST_RANGE, 7, False, id="another state"),
    ],
)
def test_a_partition_that_waits_is_placed_again_once_an_operator_has_answered(
    positions, state, position, again
):
    failed = an_anchor(PartitionState.TRANSFORM_FAILED, "no number")
    positions.advance(FIRST, failed)
    assert positions.halted == {FIRST: "no number"}
    assert (positions.running(plans()), positions.unplaced(plans())) == ({}, {SECOND})
    answered = plans(Choice(state, position, "skip"))
    assert positions.unplaced(answered) == ({FIRST, SECOND} if again else {SECOND})


def test_when_former_tasks_were_fenced_what_waits_still_waits_for_an_answer(positions):
    failed = an_anchor(PartitionState.TRANSFORM_FAILED, "no number")
    positions.advance(FIRST, failed)
    positions.advance(SECOND, an_anchor())
    positions.follow({FIRST: failed, SECOND: an_anchor()})
    assert positions.unplaced(plans()) == {SECOND}
    answered = plans(Choice(PartitionState.TRANSFORM_FAILED, 7, "skip"))
    assert positions.unplaced(answered) == {FIRST, SECOND}
