"""Who may carry out an operation, and what of it is left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.errors import ConfigError, FlowTaken
from replication.recovery.procedure import (
    DONE,
    RUNNING,
    ended,
    failover_steps,
    newest,
    newest_turns,
    remaining,
    require_idle,
    require_turn,
    require_verb,
    standing,
)
from replication.state import Operation

FLOW = "--flow 'A->B'"
STEPS = failover_steps("A->B", "B")
MINE = Operation("A->B", "op1", "failover", RUNNING, "fence", by="ada@one", instance="a", turn=1)


def test_a_step_that_ended_is_not_carried_out_again():
    operation = ended(ended(MINE, "stop", 1, "stopped"), "fence", 2, "fenced")
    assert [each.name for each in remaining(STEPS, operation)] == [
        "prove positions",
        "set groups",
        "open target",
    ]
    assert operation.step == ""


def test_every_step_says_what_it_does_and_how_to_go_back():
    assert all(each.does and each.back for each in STEPS)


def test_an_operation_whose_record_moves_has_an_operator():
    with pytest.raises(FlowTaken, match=r"ada@one carries out failover op1.*at step 'fence'"):
        require_idle(MINE, replace(MINE, beat_ms=7))


@pytest.mark.parametrize("now", [None, MINE, replace(MINE, state=DONE, beat_ms=7)])
def test_an_operation_whose_record_stands_still_or_is_done_has_none(now):
    require_idle(MINE, now)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"state": DONE, "writable": "B"}, "B is open for clients since failover op1 of ada@one"),
        ({"writable": "B"}, "B is open for clients since failover op1 of ada@one"),
        (
            {},
            (
                "failover op1 of ada@one is not finished; continue it: isthmus failover FILE "
                f"{FLOW}; or go back: isthmus resume FILE {FLOW}"
            ),
        ),
        (
            {"verb": "switchover"},
            (
                "switchover op1 of ada@one is not finished; continue it: isthmus switchover FILE "
                f"{FLOW}; or go back: isthmus switchover FILE {FLOW} --undo"
            ),
        ),
        ({"state": DONE}, ""),
    ],
)
def test_a_status_says_how_far_the_last_operation_got(changes, says):
    found = standing(replace(MINE, **changes), "B")
    assert found.startswith(says)
    assert bool(found) == bool(says)
    assert standing(None, "B") == ""


def test_of_two_operators_that_begin_at_once_the_first_record_in_the_log_wins():
    other = replace(MINE, instance="b", by="bob@two")
    require_turn(MINE, [MINE, other])
    with pytest.raises(FlowTaken, match="ada@one"):
        require_turn(other, [MINE, other])


def test_an_operator_whose_operation_another_one_continues_ends():
    later = replace(MINE, instance="b", by="bob@two", turn=2)
    with pytest.raises(FlowTaken, match="bob@two"):
        require_turn(MINE, [MINE, later])
    require_turn(later, [MINE, later, replace(MINE, beat_ms=9)])


def test_the_operation_with_the_highest_turn_counts():
    later = replace(MINE, id="op2", turn=4)
    elsewhere = replace(MINE, flow="C->B", id="op3", turn=9)
    assert newest([later, MINE, elsewhere], "A->B") == later
    assert newest([], "A->B") is None


def test_of_each_operation_the_record_with_the_highest_turn_counts_wherever_it_stands():
    later, other = replace(MINE, turn=2), replace(MINE, id="op2", turn=3)
    assert newest_turns([later, MINE, other]) == (later, other)
    assert newest_turns([MINE, other, later]) == (later, other)
    rewritten = replace(MINE, options={"denied": ""})  # by the same turn, under a later key
    assert newest_turns([MINE, rewritten]) == (rewritten,)


def test_a_record_of_a_lower_turn_replaces_none_of_a_higher_one():
    assert MINE.key() != replace(MINE, turn=2).key()
    assert MINE.key() == replace(MINE, state=DONE, beat_ms=7).key()


def test_a_failover_gives_up_a_switchover_and_nothing_gives_up_a_failover():
    moving = replace(MINE, verb="switchover")
    assert require_verb("switchover", moving)
    assert require_verb("failover", MINE)
    assert not require_verb("failover", moving)
    with pytest.raises(ConfigError, match="failover op1 of ada@one is not finished"):
        require_verb("switchover", MINE)
