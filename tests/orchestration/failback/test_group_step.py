"""The step of a failback that sets groups while clients of both clusters go on."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest
from support.fakes.memory_groups import Groups
from support.fakes.state_logs import LogStore
from support.settings.configs import a_config, a_flow

from orchestration.failback.failback import Failback
from orchestration.failback.failback_report import FailbackReport
from orchestration.recovery.left_groups import all_left_groups
from orchestration.recovery.operator import Operator
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
from replication.state import Operation

HERE = TopicPartition("t", 0)
MOVED = [
    TranslatedPosition(name, HERE, Committed(5), HERE, Answer(15)) for name in ("g", "h", "k", "x")
]
LATE = TranslatedPosition("late", HERE, Committed(9), HERE, NOT_YET)
OPEN = TranslatedPosition("open", HERE, Committed(UNSTABLE), HERE, Answer(None, exact=False))
LEFT, UNKNOWN = LeaveGroup("k", "denied"), LeaveOffset("x", HERE, "unknown there")
SET = [CommitGroup(name, {HERE: Committed(15)}) for name in ("g", "h")]
ROUND = SyncRound((*MOVED, LATE, OPEN), (*SET, LEFT), unknown=(UNKNOWN,))


@pytest.fixture
def failback(monkeypatch):
    class Sync:
        found, target = ROUND, Groups()

        def plan(self):
            return self.found

    @contextmanager
    def opened(*_):
        yield sync, None

    sync = Sync()
    monkeypatch.setattr("replication.adapters.group_syncs.opened_sync", opened)
    back = a_flow("B", "A")
    taken = Operation("A->B", "op1", step="set groups")
    operator = Operator(a_flow(), LogStore(), print, operation=taken)
    work = Failback(a_flow(), a_config(a_flow(), back), None, operator, None, None)
    monkeypatch.setattr(Failback, "back", back)
    return work, sync


def test_what_time_does_not_help_is_left_and_named_and_the_others_are_set(failback):
    """It would fail the same way each time, and the failback would never end."""
    work, sync = failback
    sync.target.refused = {"h": ClusterRejected("needs READ")}
    refused = LeaveGroup("h", "its offsets were refused: needs READ")
    assert work._set_groups(None) == (
        "set the offsets of 1 of 6 groups; 1 offset not copied yet; 1 offset in open transactions; "
        "left: k, denied; left: x, unknown there; left: h, its offsets were refused: needs READ; "
        "clients stay on both clusters"
    )
    assert sync.target.held == {"g": {HERE: Committed(15)}}
    assert all_left_groups(work.operator.last()) == (LEFT, UNKNOWN, refused)


def test_a_group_that_consumes_on_the_source_needs_no_other_offset_there(failback):
    """Clients stay on both clusters, so that is the ordinary case and no failure."""
    work, sync = failback
    sync.target.held["k"] = {}
    sync.target.states["k"] = "Stable"
    assert "left: k, denied" in work._set_groups(None)
    assert all_left_groups(work.operator.last()) == (UNKNOWN,)


def test_what_is_not_known_now_is_tried_again(failback):
    work, sync = failback
    sync.found = replace(ROUND, unread="broker 1 is silent")
    with pytest.raises(ClusterUnavailable, match="some groups were not read: broker 1 is silent"):
        work._set_groups(None)
    sync.found = ROUND
    sync.target.refused = {"h": ClusterUnavailable("silent")}
    with pytest.raises(ClusterUnavailable, match="group h: silent"):
        work._set_groups(None)


def test_a_report_names_what_was_left():
    report = FailbackReport("A->B", unset=(LEFT,))
    assert report.left == (LEFT,)
    assert "group k: denied" in list(report.lines())
    assert report.as_json()["left"] == [{"group": "k", "why": "denied"}]
