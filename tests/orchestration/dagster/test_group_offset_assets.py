"""The group offset sync in Dagster: task, report and freshness check."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from orchestration.dagster.background_tasks.group_offset_assets import freshness, group_task, report
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import (
    CommitGroup,
    Committed,
    LeaveGroup,
    LeaveOffset,
)
from replication.offsets.groups.sync_round import SyncRound, TranslatedPosition
from replication.offsets.offset_map import Answer
from replication.settings.flow_settings import Flow, FlowClients
from replication.settings.mm2_settings import GroupSettings
from replication.state import TaskReport

CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})
FLOW = Flow(source="A", target="B", clients=CLIENTS, groups=GroupSettings(sync=True))
COPY = TopicPartition("A.t", 0)
MOVED = TranslatedPosition("g", TopicPartition("t", 0), Committed(4), COPY, Answer(7))
ROUND = SyncRound(
    (MOVED,),
    (
        CommitGroup("g", {COPY: Committed(7)}),
        LeaveGroup("h", "it has live members"),
        LeaveOffset("i", COPY, "t-0 offset 99 is beyond the end of the source (9)"),
    ),
)


def test_a_round_shows_its_plan_and_what_came_of_it():
    found = report(ROUND, {})
    assert found.rows == (
        {"what": "set group g to A.t-0 offset 7", "outcome": "done"},
        {"what": "leave group h unchanged: it has live members", "outcome": "skipped"},
        {
            "what": "leave group i in A.t-0 unchanged: "
            "t-0 offset 99 is beyond the end of the source (9)",
            "outcome": "skipped",
        },
    )
    assert found.facts == {
        "groups": 1,
        "moved": 1,
        "offsets not copied yet": 0,
        "offsets without a translation": 1,
    }
    assert found.failures == ()


def test_what_the_target_refuses_fails_the_run():
    found = report(ROUND, {"g": "it has active members on the target"})
    assert found.rows[0]["outcome"] == "it has active members on the target"
    assert (found.failures, found.facts["moved"]) == (
        ("group g: it has active members on the target",),
        0,
    )


def test_a_broker_that_is_silent_fails_the_run():
    found = report(replace(ROUND, unread="broker 3 gave no answer"), {})
    assert found.failures == ("some groups were skipped: broker 3 gave no answer",)


def test_a_group_that_may_not_be_read_fails_the_run():
    refused = LeaveGroup("h", "its offsets on A are unknown: denied")
    found = report(replace(ROUND, unreadable=(refused,)), {})
    assert found.failures == ("group h: its offsets on A are unknown: denied",)


def test_a_flow_that_syncs_no_groups_has_the_asset_but_no_schedule_that_runs():
    off = FLOW.model_copy(update={"groups": GroupSettings()})
    assert (group_task(FLOW).enabled, group_task(off).enabled) == (True, False)


@pytest.mark.parametrize(
    ("age_s", "ok", "fresh"),
    [(5, True, True), (44, True, True), (46, True, False), (5, False, False)],
)
def test_the_check_tells_a_round_of_late_from_an_old_or_failed_one(age_s, ok, fresh):
    report = TaskReport("A->B", "group offsets", 1000, ok, "3 groups")
    passed, reason = freshness(report, FLOW, 1000 + age_s * 1000)
    assert (passed, reason) == (fresh, f"{age_s} s ago: 3 groups")
    assert FLOW.groups.every == timedelta(seconds=5)


def test_a_driver_that_never_did_it_is_not_fresh():
    assert freshness(None, FLOW, 0) == (False, "the driver has not synced group offsets yet")
