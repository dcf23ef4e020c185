"""What a run of a batch flow still has to copy."""

from __future__ import annotations

from datetime import timedelta

import pytest

from replication.model import TopicPartition
from replication.state import Anchor, BatchRun
from replication.supervision.batch_run import (
    batch_age,
    copied_records,
    left_to_copy,
    what_is_left,
)

HOUR_MS = 3_600_000

HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 1)
OURS = 5  # the generation of the run's driver


def anchor(source, state="RUNNING", generation=OURS, reason="", records=0):
    return Anchor(
        "A->B", "orders", 0, "A.orders", source, source, generation=generation, state=state,
        reason=reason, records=records,
    )  # fmt: skip


def left(end, found=None, transformed=None):
    return left_to_copy({HERE: end}, {HERE: found} if found else {}, OURS, transformed or {}, {})


@pytest.mark.parametrize("source", [10, 11])
def test_a_partition_is_copied_when_its_anchor_has_reached_the_end(source):
    assert left(10, anchor(source)) == left_to_copy({}, {}, OURS, {}, {})


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="no unit has begun it"),
        pytest.param(anchor(9), id="a record is missing"),
        pytest.param(anchor(None), id="its position is not known yet"),
        pytest.param(anchor(9, "WAITING"), id="its leader moves"),
    ],
)
def test_a_partition_that_is_not_at_the_end_is_waited_for(found):
    assert left(10, found).open == (HERE,)


def test_an_anchor_of_a_former_run_proves_nothing():
    """Its topic may be another one by now, with fewer records, or a decision may be carried out."""
    assert left(10, anchor(900, generation=OURS - 1)).open == (HERE,)
    assert left(10, anchor(3, "LOST_RANGE", OURS - 1)).open == (HERE,)


def test_a_partition_that_waits_for_a_person_is_not_waited_for():
    found = left(10, anchor(3, "LOST_RANGE", reason="[3, 7) is gone"))
    assert (found.open, found.halted) == ((), ("orders-0: LOST_RANGE, [3, 7) is gone",))


def test_a_partition_into_which_nothing_was_ever_written_needs_no_anchor():
    assert left(0).open == ()


def test_a_transformed_partition_has_no_anchor_of_the_run_without_new_records():
    before = anchor(10, generation=OURS - 1)
    assert left(10, before, {HERE: ""}) == left(0)
    assert left(11, before, {HERE: ""}).open == (HERE,)
    assert left(11, before, {HERE: "no such field"}).halted == ("orders-0: no such field",)


def test_what_is_left_is_named_up_to_three_partitions():
    ends = {TopicPartition("orders", each): 1 for each in range(5)}
    found = left_to_copy(ends, {}, OURS, {}, {})
    output = "orders-0, orders-1, orders-2, and 2 more not copied to the end; A is paused"
    assert what_is_left(found, ["", "A is paused"]) == output
    assert what_is_left(left(0)) == ""


def test_records_are_counted_from_the_anchors_that_there_were():
    before, after = {HERE: anchor(5, records=5)}, {HERE: anchor(9, records=8)}
    assert copied_records(before, {**after, THERE: anchor(2, records=2)}) == 5


@pytest.mark.parametrize(
    ("run", "young", "why"),
    [
        (None, False, "no run has copied all yet"),
        (BatchRun("f", ended_ms=100 * HOUR_MS, problem="p"), False, "no run has copied all yet"),
        (BatchRun("f", good_ms=88 * HOUR_MS), True, "the last run that copied all ended at"),
        (BatchRun("f", good_ms=88 * HOUR_MS - 1), False, "longer ago than batch.max.age = 12h"),
    ],
)
def test_the_last_good_run_is_too_old_beyond_the_limit(run, young, why):
    """A run that did not copy all does not count, however young it is."""
    passed, reason = batch_age(run, timedelta(hours=12), 100 * HOUR_MS)
    assert passed is young
    assert why in reason
