"""How long a step waits that is tried again."""

from __future__ import annotations

import pytest
from tenacity import wait_none

from orchestration.recovery import step_retry
from orchestration.recovery.step_retry import WaitLimits, answered
from replication.errors import ClusterRejected, ClusterUnavailable, WrongCluster


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(step_retry, "time", made)
    monkeypatch.setattr(step_retry, "_PAUSE", wait_none())
    return made


class Wait:
    """Waits for a leader all the time that is left, or for so many seconds, and finds none."""

    def __init__(self, clock: Clock, *lasts: float) -> None:
        self.clock, self.lasts, self.left = clock, list(lasts), []

    def __call__(self, left_s: float) -> str:
        self.left.append(left_s)
        self.clock.now += self.lasts.pop(0) if self.lasts else left_s
        raise ClusterUnavailable("t-1 has no leader on A")


def test_a_wait_that_used_its_time_up_is_not_begun_again(clock):
    limits, wait = WaitLimits(), Wait(clock)
    with pytest.raises(ClusterRejected, match="draining A->B: not within 300 s: t-1 has no leader"):
        answered(lambda: limits.within(300, "draining A->B", wait), print)
    assert (wait.left, clock.now) == ([300], 300)


def test_a_wait_that_is_begun_again_gets_what_is_left_of_its_time(clock):
    limits, wait = WaitLimits(), Wait(clock, 120, 60)
    with pytest.raises(ClusterRejected):
        answered(lambda: limits.within(300, "draining A->B", wait), print)
    assert (wait.left, clock.now) == ([300, 180, 120], 300)


def test_each_wait_has_a_limit_of_its_own(clock):
    limits = WaitLimits()
    with pytest.raises(ClusterRejected):
        limits.within(300, "draining A->B", Wait(clock))
    assert limits.within(300, "draining B->A", lambda left_s: f"{left_s:g} s left") == "300 s left"


def test_another_cluster_is_no_matter_of_time(clock):
    def met(_):
        clock.now += 300
        raise WrongCluster("B is another cluster")

    with pytest.raises(WrongCluster):
        WaitLimits().within(300, "draining A->B", met)
