"""Which partitions wait for an operator, and which decisions are valid."""

from __future__ import annotations

import pytest

from replication.errors import ConfigError
from replication.model import Choice, NameChange, PartitionState
from replication.settings.state_policies import CHOICES, Policies, choose
from replication.state import Anchor, Decision, Loss, NameDecision, parse
from replication.supervision.operator_decisions import answers, name_questions, open_questions
from replication.supervision.partition_states import loss_summary

HOUR = 3_600_000


def anchor(state: str, source: int | None = 7, partition: int = 0) -> Anchor:
    return Anchor("A->B", "orders", partition, "orders", source, source, state=state)


def test_only_partitions_in_a_state_with_choices_ask():
    anchors = [anchor("RUNNING"), anchor("WAITING"), anchor("REFUSED"), anchor("LOST_RANGE")]
    assert [each.state for each in open_questions(anchors)] == ["REFUSED", "LOST_RANGE"]


def test_an_answer_goes_to_the_questions_that_know_it_and_names_state_and_position():
    halted = [anchor("TARGET_RESET"), anchor("REFUSED", partition=1), anchor("POSITION_LOST", None)]
    decisions, rest = answers(halted, "reseed", "me@here", 5)
    assert [(e.partition, e.state, e.position, e.choice) for e in decisions] == [
        (0, "TARGET_RESET", 7, "reseed"),
        (0, "POSITION_LOST", -1, "reseed"),
    ]
    assert [each.state for each in rest] == ["REFUSED"]


def test_an_answer_that_no_question_knows_names_the_choices():
    with pytest.raises(
        ConfigError, match=r"^'reseed' is not possible: orders-\d: REFUSED allows skip$"
    ):
        answers([anchor("REFUSED")], "reseed", "me", 5)


def test_a_decision_holds_for_the_event_that_it_names_and_the_policy_for_all_others():
    policies = Policies(lost_range="stop", target_reset="reseed")
    decision = Choice("LOST_RANGE", 7, "continue")
    assert choose(PartitionState.LOST_RANGE, 7, policies, decision) == "continue"
    assert choose(PartitionState.LOST_RANGE, 8, policies, decision) == "stop"
    assert choose(PartitionState.TARGET_RESET, 7, policies, decision) == "reseed"
    assert choose(PartitionState.POSITION_LOST, None, policies, None) == "stop"


def test_every_policy_knows_only_what_its_state_knows():
    for state, choices in CHOICES.items():
        default = choose(PartitionState(state), 0, Policies(), None)
        assert default in {*choices, "stop"}


@pytest.mark.parametrize("stored", [
    Loss("A->B", "orders", 0, "aa", 3, "LOST_RANGE", 9, "gone", 5),
    Decision("A->B", "orders", 0, "LOST_RANGE", 7, "continue", "me", 5),
])  # fmt: skip
def test_losses_and_decisions_come_back_as_they_were_stored(stored):
    assert parse(stored.key(), stored.value()) == stored


def test_losses_of_a_topic_that_was_recreated_do_not_replace_those_of_the_old_one():
    old = Loss("A->B", "orders", 0, "aa", 3, "LOST_RANGE", 9)
    new = Loss("A->B", "orders", 0, "bb", 3, "LOST_RANGE", 5)
    assert old.key() != new.key()


def test_a_loss_keeps_the_check_red_for_an_hour_and_is_named():
    lost = (Loss("A->B", "orders", 0, "aa", 3, "LOST_RANGE", 9, "the source lost it", 1_000),)
    passed, text = loss_summary(lost, 1_000 + HOUR - 1)
    assert not passed
    assert "orders-0 offsets [3, 9) LOST_RANGE: the source lost it" in text
    assert loss_summary(lost, 1_000 + HOUR) == (True, "no loss in the last hour; 1 losses recorded")


def test_a_changed_name_is_asked_once_for_its_topic_and_not_by_each_partition():
    assert open_questions([anchor("NAME_CHANGED"), anchor("NAME_CHANGED", partition=1)]) == ()
    changes = {"orders": NameChange("A.orders", "A-orders")}
    (question,) = name_questions("A->B", changes)
    assert question.reason == (
        "the topic was copied as A.orders, and the file now names it A-orders"
    )
    decisions, rest = answers([question, anchor("REFUSED")], "keep", "me@here", 5)
    assert decisions == (
        NameDecision("A->B", "orders", "A.orders", "A-orders", "keep", "me@here", 5),
    )
    assert [each.state for each in rest] == ["REFUSED"]


def test_a_name_that_was_decided_is_asked_again_only_for_the_topic_that_is_named():
    changes = {
        "orders": NameChange("A.orders", "A-orders", "keep"),
        "clicks": NameChange("A.clicks", "A-clicks"),
    }
    assert [each.topic for each in name_questions("A->B", changes)] == ["clicks"]
    assert [each.topic for each in name_questions("A->B", changes, "orders")] == ["orders"]
