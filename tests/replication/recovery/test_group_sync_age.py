"""How old the stored offsets of groups are at a failover, and when the sync is called silent."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.settings.configs import a_flow

from replication.recovery.group_sync_age import GroupSyncAge, group_sync_age
from replication.settings.mm2_settings import GroupSettings
from replication.state import GROUPS_OFF, TaskReport
from replication.supervision.task_schedule import GROUPS_TASK, REPORT_EVERY_S

NOW = 1_000_000_000
EVERY = timedelta(seconds=5)
ON = GroupSettings(sync=True, every=EVERY)
WELL = TaskReport("A->B", GROUPS_TASK, NOW, summary="3 groups", took_ms=100)
OTHER = TaskReport("A->B", "heartbeats", NOW, good_ms=NOW)


def age(*reports: TaskReport, groups: GroupSettings = ON, batch: bool = False) -> GroupSyncAge:
    mode = "batch" if batch else "stream"
    flow = a_flow().model_copy(update={"groups": groups, "mode": mode})
    return group_sync_age(flow, [OTHER, *reports], NOW)


def good(age_s: float, **more) -> TaskReport:
    at = NOW - int(age_s * 1000)
    return replace(WELL, at_ms=at, good_ms=at, **more)


def test_a_round_within_the_interval_and_the_pause_between_reports_is_no_silence():
    found = age(good(5 + REPORT_EVERY_S + 4))
    assert (found.age_s, found.silence, found.warning) == (19.0, "", "")
    assert found.sentence.endswith("at 1970-01-12 13:46:21 UTC, 19 s before")


def test_a_round_that_takes_long_is_waited_for():
    assert not age(good(60, took_ms=50_000)).silence
    assert age(good(60)).silence


def test_a_sync_of_which_nothing_is_heard_is_silent():
    found = age(good(30))
    assert (found.read_ms, found.age_s) == (NOW - 30_000, 30.0)
    assert found.warning == (
        "the group sync was silent: its interval is 5s, and no round was reported since: the "
        "driver did not run, or the flow was paused or stopped. Offsets that groups committed at "
        "the source since are unknown: these groups may read records again, and a new group "
        "starts at auto.offset.reset"
    )


def test_a_sync_that_fails_is_silent_since_its_last_good_round():
    failed = replace(good(60), at_ms=NOW - 2000, ok=False, summary="A is silent")
    found = age(failed)
    assert found.age_s == 60.0
    assert found.silence == "its last round, at 1970-01-12 13:46:38 UTC, failed: A is silent"
    assert not age(replace(failed, good_ms=NOW - 8000)).silence, "one round failed, so far"


def test_what_a_driver_of_an_older_release_reported_counts_from_its_last_round():
    assert age(replace(WELL, at_ms=NOW - 3000)).read_ms == NOW - 3000
    failed = age(replace(WELL, ok=False, summary="A is silent"))
    assert (failed.read_ms, failed.age_s) == (None, None)
    assert "A is silent. Offsets that groups committed at the source are unknown" in failed.warning
    assert failed.sentence.endswith("is unknown")


@pytest.mark.parametrize(
    ("reports", "groups", "why"),
    [
        ([], ON, "no round of it was ever reported"),
        ([replace(WELL, summary=GROUPS_OFF)], ON, "its driver ran with sync.group.offsets"),
        ([WELL], GroupSettings(sync=False), "sync.group.offsets.enabled is false"),
    ],
    ids=["never", "off in the driver", "off in the file"],
)
def test_a_sync_that_does_not_run_is_silent(reports, groups, why):
    found = age(*reports, groups=groups)
    assert found.silence.startswith(why)
    assert found.enabled is groups.sync


def test_a_batch_flow_rests_between_its_runs():
    assert not age(good(3600), batch=True).silence
    assert age(replace(good(3600), at_ms=NOW, ok=False), batch=True).silence
