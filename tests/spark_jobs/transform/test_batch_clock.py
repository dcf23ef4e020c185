"""What ends a batch: tasks that run for too long, or a wait without any."""

from __future__ import annotations

import pytest

from replication.errors import ClusterUnavailable
from spark_jobs.transform.batch_clock import BatchClock, JobTooSlow


@pytest.mark.parametrize(
    ("running_s", "waited_s", "problem"),
    [
        pytest.param(69, 69, None, id="neither is over"),
        pytest.param(70, 0, JobTooSlow, id="its tasks are slow"),
        pytest.param(0, 70, ClusterUnavailable, id="none of its tasks began"),
        pytest.param(70, 30, JobTooSlow, id="they began late, and are slow"),
        pytest.param(5, 70, ClusterUnavailable, id="an executor was lost"),
    ],
)
def test_only_the_time_in_which_tasks_run_counts_against_records(running_s, waited_s, problem):
    clock = BatchClock(70)
    for running, seconds in ((False, waited_s), (True, running_s)):
        for _ in range(seconds):
            clock.spend(1, running=running)
    assert clock.problem is None if problem is None else type(clock.problem) is problem
