"""The step of a switchover that sets groups: it opens no target while an offset is not known."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from support.fakes.memory_groups import Groups
from support.fakes.state_logs import LogStore
from support.settings.configs import a_config, a_flow

from orchestration.recovery.left_groups import left_groups
from orchestration.recovery.operator import Operator
from orchestration.switchover import steps
from orchestration.switchover.home_positions import HomePlan
from orchestration.switchover.steps import SwitchoverSteps
from orchestration.switchover.switchover_report import SwitchoverReport
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import (
    UNSTABLE,
    CommitGroup,
    Committed,
    LeaveGroup,
    LeaveOffset,
)
from replication.offsets.groups.sync_round import SyncRound, TranslatedPosition
from replication.offsets.offset_map import NOT_YET, Answer
from replication.recovery.switchover import SwitchoverOptions
from replication.state import Operation

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
KNOWN = TranslatedPosition("g", ORDERS, Committed(10), COPY, Answer(1010))
OPEN = TranslatedPosition("h", ORDERS, Committed(UNSTABLE), COPY, Answer(None, exact=False))
SET = CommitGroup("g", {COPY: Committed(1010)})


@dataclass
class Sync:
    found: SyncRound
    target: Groups

    def plan(self):
        return self.found


def a_step(*moved: TranslatedPosition) -> SwitchoverSteps:
    sync = Sync(SyncRound(moved, (SET,)), Groups())
    taken = Operation("A->B", "op1", step="set groups")
    operator = Operator(a_flow(), LogStore(), print, operation=taken)
    return SwitchoverSteps(a_flow(), a_config(), None, operator, None, sync)


def test_groups_whose_offsets_are_known_are_set():
    step = a_step(KNOWN)
    assert step._set_groups(None) == "set the offsets of 1 of 1 group"
    assert step.sync.target.held == {"g": {COPY: Committed(1010)}}


LATE = TranslatedPosition("late", ORDERS, Committed(12), COPY, NOT_YET)
UNPLACED = {
    "among records of others": SyncRound(
        (KNOWN,), (SET,), unknown=(LeaveOffset("h", COPY, "why"),)
    ),
    "that is not translated": SyncRound((KNOWN,), (SET, LeaveOffset("h", COPY, "why"))),
    "that may not be read": SyncRound((KNOWN,), (SET, LeaveGroup("h", "why"))),
    "that is not copied yet": SyncRound((KNOWN, LATE._replace(group="h")), (SET,)),
}


@pytest.mark.parametrize("kind", UNPLACED)
def test_a_group_without_a_place_is_left_only_if_somebody_agreed(kind):
    """Its consumers would skip or repeat records on the target."""
    step, whole = a_step(KNOWN), "set the offsets of 1 of "
    step.sync.found = UNPLACED[kind]
    why = "orders-0 offset 12 is not copied yet" if kind.endswith("yet") else "why"
    may_pass = kind == "among records of others"
    with pytest.raises(ClusterUnavailable if may_pass else ClusterRejected) as refused:
        step._set_groups(None)
    assert str(refused.value) == (
        f"group h: {why}. On B consumers would begin by auto.offset.reset, or at an older offset: "
        "correct the cause, or agree to that with --leave 'h' (--leave '*': of all groups)"
    )
    assert step.sync.target.held == {}
    for agreed in ("h", "*"):
        step.options = SwitchoverOptions(leave=frozenset({agreed}))
        did = step._set_groups(None)
        assert did.startswith(whole)
        assert did.endswith(f"; left: h, {why}")
        (left,) = left_groups(step.operator.last(), "set groups")
        assert (left.group, left.reason) == ("h", why)
        assert step.sync.target.held == {"g": {COPY: Committed(1010)}}


def test_a_group_that_has_members_on_the_target_needs_no_place_there():
    step = a_step(KNOWN)
    step.sync.target.held["h"] = {}
    step.sync.target.states["h"] = "Stable"
    step.sync.found = UNPLACED["that may not be read"]
    assert step._set_groups(None) == "set the offsets of 1 of 1 group; left: h, why"


def test_a_dry_run_says_which_groups_would_end_it_and_with_what_they_may_be_left(monkeypatch):
    step = a_step(KNOWN)
    step.sync.found = SyncRound((KNOWN,), (SET, LeaveGroup("h", "why"), LeaveGroup("i", "why")))
    step.sync.target.held["i"] = {}
    step.sync.target.states["i"] = "Stable"
    nobody = SimpleNamespace(consuming=lambda _: ())
    monkeypatch.setattr(SwitchoverSteps, "source", lambda _: nobody)
    assert (step.report().left, step.report().needs_leave) == (
        (LeaveGroup("h", "why"), LeaveGroup("i", "why")),
        ("h",),
    )
    (agree,) = [each for each in step.report().lines() if "--leave" in each]
    assert agree == (
        "A->B: correct that, or agree to leave these groups with --leave 'h'; else the step "
        "`set groups` undoes the switchover, unless their offsets are known then"
    )
    step.options = SwitchoverOptions(leave=frozenset({"h"}))
    assert step.report().needs_leave == ()


def test_of_many_groups_without_a_place_some_are_named():
    step = a_step(KNOWN)
    step.sync.found = SyncRound((KNOWN,), tuple(LeaveGroup(f"h{n}", "why") for n in range(7)))
    with pytest.raises(ClusterRejected, match=r"group h4: why; and 2 more offsets\. On B"):
        step._set_groups(None)


def test_what_is_left_on_the_way_home_too_is_named_once():
    left = LeaveGroup("h", "why")
    assert SwitchoverReport("A->B", actions=(left, SET, left)).left == (left,)


def test_a_group_whose_offset_a_transaction_may_change_is_waited_for():
    step = a_step(KNOWN, OPEN)
    with pytest.raises(ClusterUnavailable) as waits:
        step._set_groups(None)
    assert str(waits.value) == (
        "group h: a transaction with its offset in orders-0 is open; stop its consumers, or wait "
        "until it ends"
    )
    assert step.sync.target.held == {}


def test_a_group_whose_offset_at_home_is_not_known_now_is_waited_for(monkeypatch):
    why = "a transaction with its offset in B.orders-0 is open"
    left = LeaveOffset("h", ORDERS, why)

    class Home:
        def plan(self):
            return HomePlan((left,), f"group h: {why}")

    @contextmanager
    def opened(*_):
        yield Home()

    monkeypatch.setattr(steps, "opened_home", opened)
    with pytest.raises(ClusterUnavailable, match=f"some groups were not read: group h: {why}"):
        a_step(KNOWN)._set_groups(None)
