"""When heartbeats are too old."""

from __future__ import annotations

from datetime import timedelta

import pytest

from replication.model import Desired
from replication.settings.mm2_settings import Heartbeats
from replication.state import TaskReport
from replication.supervision.heartbeat_check import beating, resting

NOW = 1_000_000
EVERY = Heartbeats(every=timedelta(seconds=10))


def report(age_s: float, *, ok: bool = True, name: str = "heartbeats") -> TaskReport:
    return TaskReport("A->B", name, NOW - int(age_s * 1000), ok, "no leader")


@pytest.mark.parametrize(
    ("reports", "due_s", "passed", "why"),
    [
        ([report(69)], 500, True, "the newest is 69 s old, limit 70s"),
        ([report(71)], 500, False, "the newest is 71 s old, limit 70s"),
        ([report(1, ok=False)], 500, False, "1 s ago: no leader"),
        (
            [report(1, name="checkpoints")],
            71,
            False,
            "no heartbeat was written in 71 s: see `isthmus logs FILE`",
        ),
        ([], 69, True, "no heartbeat was written in 69 s"),
        # These are of a time before the flow was stopped, or paused.
        ([report(900)], 69, True, "no heartbeat was written in 69 s"),
        ([report(900)], 71, False, "no heartbeat was written in 71 s: see `isthmus logs FILE`"),
        ([report(900, ok=False)], 2, True, "no heartbeat was written in 2 s"),
    ],
)
def test_heartbeats_are_late_a_minute_after_they_were_due(reports, due_s, passed, why):
    assert beating(EVERY, reports, NOW, due_s=due_s, rests="") == (passed, why)


@pytest.mark.parametrize(
    ("settings", "desired", "state", "why"),
    [
        (EVERY, Desired.PAUSE, "RUNNING", "the flow is paused or stopped"),
        (EVERY, Desired.RUN, "PAUSED", "the flow is still PAUSED"),
        (EVERY, Desired.RUN, "STOPPED", "the flow is still STOPPED"),
        (Heartbeats(enabled=False), Desired.RUN, "RUNNING", "disabled in the configuration file"),
    ],
)
def test_heartbeats_that_nobody_expects_are_not_missed(settings, desired, state, why):
    rests = resting(desired, state)
    assert beating(settings, [report(900)], NOW, due_s=900, rests=rests) == (True, why)


@pytest.mark.parametrize("state", [None, "STARTING", "RUNNING", "DEGRADED", "FAILED"])
def test_a_flow_that_is_to_run_is_expected_to_beat(state):
    assert resting(Desired.RUN, state) == ""
