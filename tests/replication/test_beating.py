"""When heartbeats are too old."""

from __future__ import annotations

from datetime import timedelta

import pytest

from replication.beating import beating
from replication.config.model import Heartbeats
from replication.state import DutyReport

NOW = 1_000_000
EVERY = Heartbeats(every=timedelta(seconds=10))


def report(age_s: float, *, ok: bool = True, name: str = "heartbeats") -> DutyReport:
    return DutyReport("A->B", name, NOW - int(age_s * 1000), ok, "no leader")


@pytest.mark.parametrize(
    ("reports", "up_s", "passed", "why"),
    [
        ([report(69)], 500, True, "the newest is 69 s old, limit 70s"),
        ([report(71)], 500, False, "the newest is 71 s old, limit 70s"),
        ([report(1, ok=False)], 500, False, "1 s ago: no leader"),
        ([report(1, name="checkpoints")], 71, False, "none was written in 71 s"),
        ([], 69, True, "none was written in 69 s"),
    ],
)
def test_heartbeats_are_late_a_minute_after_they_were_due(reports, up_s, passed, why):
    assert beating(EVERY, reports, NOW, up_s=up_s, wanted=True) == (passed, why)


@pytest.mark.parametrize(
    ("settings", "wanted", "why"),
    [
        (EVERY, False, "the flow is not to run"),
        (Heartbeats(enabled=False), True, "switched off in the file"),
    ],
)
def test_heartbeats_that_nobody_wants_are_not_missed(settings, wanted, why):
    assert beating(settings, [], NOW, up_s=500, wanted=wanted) == (True, why)
