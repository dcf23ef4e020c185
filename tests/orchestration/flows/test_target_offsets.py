"""Which offsets can be set on the target, and what is said of the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestration.flows.target_offsets import existing, left_of, unsettable
from replication.model import OffsetRange, TopicPartition
from replication.offsets.groups.consumer_groups import UNSTABLE, Committed, LeaveOffset
from replication.offsets.groups.sync_round import TranslatedPosition
from replication.offsets.offset_map import NOT_YET, Answer, without_answer

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
OTHER = TopicPartition("A.orders", 99)
LOGS = {COPY: OffsetRange(5, 9), OTHER: "is not in a partition that A->B copies to"}
OFFSETS = st.one_of(st.integers(-(1 << 70), 1 << 70), st.integers(-3, 12))


@given(OFFSETS)
def test_what_is_set_is_in_the_log_and_all_else_is_named(offset):
    there, left = existing({"g": {COPY: Committed(offset, "m"), OTHER: Committed(offset)}}, LOGS)
    assert left[-1] == LeaveOffset("g", OTHER, f"offset {offset} {LOGS[OTHER]}")
    if 0 <= offset <= 9:
        assert there == {"g": {COPY: Committed(max(5, offset), "m")}}
        assert len(left) == 1
    else:
        assert there == {}
        assert str(offset) in left[0].reason


@pytest.mark.parametrize(
    ("offset", "reason"),
    [
        (9, ""),
        (10, "is beyond the end of the target (9)"),
        ((1 << 63) - 1, "is beyond the end of the target (9)"),
        (-1, "is negative: offsets begin at 0"),
    ],
)
def test_the_end_itself_can_be_set(offset, reason):
    assert unsettable(offset, LOGS[COPY]) == reason


def test_each_offset_that_is_not_set_has_its_reason():
    answers = (
        Answer(7),
        NOT_YET,
        without_answer("is beyond the end of the source (9)"),
    )
    moved = [
        TranslatedPosition("g", ORDERS, Committed(40 + number), COPY, answer)
        for number, answer in enumerate(answers)
    ]
    assert left_of(moved[:1], {COPY: Committed(7)}) == []
    assert [each.reason for each in left_of(moved, {})] == [
        "the partition also has records of others, and the group's position among those is unknown",
        "orders-0 offset 41 is not copied yet",
        "orders-0 offset 42 is beyond the end of the source (9)",
    ]


def test_an_offset_that_a_transaction_may_change_is_left_for_that_reason():
    moved = TranslatedPosition("g", ORDERS, Committed(UNSTABLE), COPY, Answer(None, exact=False))
    (left,) = left_of([moved], {})
    assert left.reason == "a transaction with its offset in orders-0 is open"
