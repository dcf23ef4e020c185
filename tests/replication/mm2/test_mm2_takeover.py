"""Takeover from MirrorMaker 2: the decision, its message and the anchor."""

from __future__ import annotations

import pytest

from replication.mm2.proof import furthest
from replication.mm2.takeover import (
    BeginNew,
    EndOffsets,
    TakeOver,
    Unproven,
    anchor_after,
    decide,
    explain,
    handed_back,
)
from replication.model import PartitionState, TopicPartition
from replication.records.comparison_result import Fingerprint
from replication.state import Anchor

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)


def ends(source=(0, 100), target=(0, 50)) -> EndOffsets:
    return EndOffsets(ORDERS, COPY, "1" * 32, "2" * 32, *source, *target)


def prints(*offsets: int) -> list[Fingerprint]:
    return [Fingerprint(each, each) for each in offsets]


def decided(stored, copy, source, found=None):
    copied, there = prints(*copy), prints(*source)
    return decide(
        found or ends(),
        stored,
        copied,
        there,
        furthest(copied, there, stored),
    )


def test_what_was_copied_behind_the_stored_position_is_not_copied_again():
    step = decided(7, range(10), range(20))
    assert isinstance(step, TakeOver)
    assert (step.next, step.beyond) == (10, 2)
    assert explain(step) == (
        "orders-0 -> A.orders-0: stored position 7, 2 more are on the target already; "
        "continues at 10 (90 left): the target ends with source record 9"
    )


def test_without_a_stored_position_the_content_alone_says_it():
    step = decided(None, range(10), range(20))
    assert isinstance(step, TakeOver)
    assert step.next == 10


def test_what_was_never_copied_begins_like_a_new_partition():
    step = decided(None, (), range(20), ends(target=(0, 0)))
    assert isinstance(step, BeginNew)
    assert "no record was copied yet" in explain(step)


def test_what_the_source_no_longer_has_needs_no_proof_where_nothing_comes_after_it():
    step = decided(99, (3, 4), (), ends(source=(100, 100)))
    assert isinstance(step, TakeOver)
    assert step.next == 100


def test_what_retention_took_at_the_source_is_gone_and_the_rest_comes_after_it():
    step = decided(12, range(10), range(40, 60), ends(source=(40, 60)))
    assert isinstance(step, TakeOver)
    assert step.next == 13  # the engine sees, and notes, what is lost before 40


def test_an_empty_partition_begins_whatever_others_wrote_to_its_copy():
    step = decided(None, (77, 78), (), ends(source=(0, 0)))
    assert isinstance(step, BeginNew)


def test_offsets_without_records_before_the_stored_position_are_no_doubt():
    step = decided(12, range(10), (*range(10), 13, 14))  # 10 to 12: markers, or compacted
    assert isinstance(step, TakeOver)
    assert step.next == 13


@pytest.mark.parametrize(
    ("stored", "copy", "source", "why"),
    [
        pytest.param(
            12,
            range(10),
            range(20),
            "record 9, before the stored position",
            id="the target lost some",
        ),
        pytest.param(12, (), range(20), "partition is empty", id="it lost all"),
        pytest.param(12, (77, 78), range(20), "no record at the target's end", id="other content"),
        pytest.param(None, (77,), range(20), "no record at the target's end", id="no position"),
        pytest.param(120, range(10), range(20), "it was recreated", id="another source topic"),
    ],
)
def test_what_the_content_contradicts_is_not_taken_over(stored, copy, source, why):
    step = decided(stored, copy, source)
    assert isinstance(step, Unproven)
    assert why in explain(step)


def test_the_anchor_is_a_clean_start_behind_all_that_is_there():
    step = decided(7, range(10), range(20))
    made = anchor_after("A->B", step, None, 5)
    assert (made.source, made.target, made.clean, made.appenders) == (10, 50, True, ())
    assert (made.source_topic_id, made.target_topic_id) == ("1" * 32, "2" * 32)


def test_what_an_earlier_anchor_counted_is_kept():
    step = decided(7, range(10), range(20))
    before = Anchor("A->B", *ORDERS, "A.orders", 3, 3, generation=4, records=99, lost=2)
    made = anchor_after("A->B", step, before, 5)
    assert (made.source, made.generation, made.records, made.lost) == (10, 4, 99, 2)


def test_what_is_handed_back_is_not_gone_on_with_by_mistake():
    given = handed_back(Anchor("A->B", *ORDERS, "A.orders", 9, 50, clean=True), 10, 5)
    assert (given.source, given.state) == (None, PartitionState.POSITION_LOST)
    assert "at 10: take it over with isthmus takeover" in given.reason
