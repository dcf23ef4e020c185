"""The step of a switchover that sets groups: it opens no target while an offset is not known."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from support.fakes.memory_groups import Groups
from support.settings.configs import a_config, a_flow

from orchestration.switchover import steps
from orchestration.switchover.home_positions import HomePlan
from orchestration.switchover.steps import SwitchoverSteps
from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import UNSTABLE, CommitGroup, Committed, LeaveOffset
from replication.offsets.groups.sync_round import SyncRound, TranslatedPosition
from replication.offsets.offset_map import Answer

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
    return SwitchoverSteps(a_flow(), a_config(), None, None, None, sync)


def test_groups_whose_offsets_are_known_are_set():
    step = a_step(KNOWN)
    assert step._set_groups(None) == "set the offsets of 1 of 1 group"
    assert step.sync.target.held == {"g": {COPY: Committed(1010)}}


def test_a_group_whose_place_among_records_of_others_is_not_known_is_named():
    step = a_step(KNOWN)
    step.sync.found = replace(step.sync.found, unknown=(LeaveOffset("h", COPY, "why"),))
    assert step._set_groups(None) == "set the offsets of 1 of 1 group; left: h, why"


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
