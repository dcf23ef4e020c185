"""The byte rate of a unit whose target throttles it, against a broker's rule for quotas."""

from __future__ import annotations

from collections import deque

import pytest

from replication.copier.fetch.rate_backoff import RateBackoff

MB = 1 << 20
BUFFERS = 64 * MB  # what a unit without a limit sends at once


class Broker:
    """Throttles by the mean rate of eleven seconds, as ``ClientQuotaManager`` does."""

    def __init__(self, quota: int) -> None:
        self.quota, self.seen = quota, deque([0] * 11, maxlen=11)
        self.muted_s, self.appended, self.throttled_ms = 0.0, 0, 0

    def second(self, rate: int) -> None:
        """Let a unit of ``rate`` bytes a second, 0: no limit, send for a second."""
        self.muted_s = max(0.0, self.muted_s - 1)
        size = 0 if self.muted_s else (rate or BUFFERS)
        self.seen.append(size)
        self.appended += size
        mean = sum(self.seen) / 11
        if size and mean > self.quota:
            self.muted_s = (mean - self.quota) / self.quota * 11
            self.throttled_ms += int(self.muted_s * 1000)


def run(backoff: RateBackoff, broker: Broker, seconds: int) -> tuple[float, float]:
    """Return the bytes a second that were appended, and the share of time that was throttled."""
    appended, throttled_ms = broker.appended, broker.throttled_ms
    for _ in range(seconds):
        broker.second(backoff.look(broker.appended, broker.throttled_ms))
    return (
        (broker.appended - appended) / seconds,
        (broker.throttled_ms - throttled_ms) / 1000 / seconds,
    )


@pytest.mark.parametrize("budget", [0, 50 * MB, 2 * MB])
def test_a_unit_gets_its_quota_and_is_hardly_throttled_once_it_knows_it(budget):
    backoff, broker = RateBackoff(budget), Broker(MB)
    run(backoff, broker, 800)  # the first burst takes the broker a minute
    rate, throttled = run(backoff, broker, 200)
    assert 0.9 * MB < rate <= MB
    assert throttled < 0.2


def test_a_unit_that_is_not_throttled_has_its_budget():
    for budget in (0, 5 * MB):
        backoff, broker = RateBackoff(budget), Broker(1 << 50)
        run(backoff, broker, 100)
        assert (backoff.rate, backoff.limit) == (budget, 0)


@pytest.mark.parametrize("budget", [0, 50 * MB])
def test_when_the_quota_is_gone_the_budget_is_in_force_again(budget):
    backoff, broker = RateBackoff(budget), Broker(MB)
    run(backoff, broker, 300)
    assert 0 < backoff.rate < 2 * MB
    broker.quota, broker.muted_s = 1 << 50, 0.0
    run(backoff, broker, 250)
    assert (backoff.rate, backoff.limit) == (budget, 0)


def test_a_target_that_takes_nothing_leaves_enough_to_notice_when_it_does():
    backoff = RateBackoff()
    for look in range(100):
        backoff.look(0, look * 1000)
    assert backoff.rate == 64 << 10


def test_another_budget_is_in_force_at_once_and_never_exceeded():
    backoff, broker = RateBackoff(), Broker(MB)
    run(backoff, broker, 300)
    backoff.budget = MB // 4
    assert backoff.rate == MB // 4
