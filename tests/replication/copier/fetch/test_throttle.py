"""The byte rate of a unit, priority topics, and the rate of small responses.

No clock: moments are given.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.copier.partition_copies import a_partition, a_start

from replication.client.fetch_session import FetchOptions
from replication.client.preferred_replicas import Replicas
from replication.copier.fetch.throttle import FetchRateLimit, Throttle
from replication.model import TopicPartition

KB, MB = 1 << 10, 1 << 20


def a_first_partition(position: int = 0, end: int = 10):
    partition = a_partition(a_start())
    partition.plan = replace(partition.plan, first=True)
    partition.position, partition.source_log.end = position, end
    return partition


@given(
    st.integers(10 * KB, 100 * MB),
    st.lists(st.tuples(st.floats(0, 2), st.integers(0, 4 * MB)), max_size=40),
)
def test_what_is_fetched_never_exceeds_the_rate_by_more_than_a_burst_and_one_fetch(rate, tries):
    throttle, now, spent = Throttle(rate), 0.0, []
    for later, size in tries:
        now += later
        if throttle.pause_s(now, now, first=False) <= 0:
            throttle.spend(size, now)
            spent.append((now, size))
    for number, (begin, _) in enumerate(spent):
        for end, last in spent[number:]:
            window = [size for at, size in spent[number:] if at <= end]
            assert sum(window) <= rate * (end - begin + 0.1) + last + max(window) + 1


def test_a_debt_is_waited_for_exactly():
    throttle = Throttle(MB)
    throttle.spend(3 * MB, 100.0)
    assert throttle.pause_s(100.0, 0, first=True) == pytest.approx(2.9)  # a tenth was saved up
    assert throttle.pause_s(102.0, 0, first=True) == pytest.approx(0.9)
    assert throttle.pause_s(103.0, 0, first=True) == 0


def test_traffic_below_the_rate_never_waits():
    throttle = Throttle(MB)
    for tick in range(1000):
        now = 100 + tick / 100
        assert throttle.pause_s(now, now, first=False) == 0
        throttle.spend(9 * KB, now)


def test_without_a_budget_nothing_waits_and_answers_are_as_large_as_they_may_be():
    throttle = Throttle()
    throttle.spend(1 << 40, 1.0)
    assert throttle.pause_s(1.0, 1.0, first=False) == 0
    assert throttle.limited(FetchOptions()) == FetchOptions()


def test_a_small_budget_asks_for_small_answers():
    limited = Throttle(10 * MB).limited(FetchOptions())
    assert (limited.max_bytes, limited.partition_bytes) == (MB, MB)
    assert Throttle(1).limited(FetchOptions()).max_bytes == 64 * KB


def test_while_a_priority_topic_is_behind_the_others_get_a_small_share():
    throttle, partition = Throttle(), a_first_partition()
    throttle.on_response(partition)
    assert throttle.pause_s(10.0, 9.7, first=False) == pytest.approx(0.7)
    assert throttle.pause_s(10.7, 9.7, first=False) <= 0  # nothing starves
    assert throttle.shared(FetchOptions(), first=False).max_bytes == MB
    assert throttle.pause_s(10.0, 9.7, first=True) == 0
    assert throttle.shared(FetchOptions(), first=True) == FetchOptions()


def test_nobody_waits_for_a_priority_topic_that_has_caught_up_or_cannot_go_on():
    throttle, partition = Throttle(), a_first_partition()
    throttle.on_response(partition)
    partition.retry_at = 12.0
    assert throttle.pause_s(10.0, 9.7, first=False) == 0
    partition.retry_at, partition.position = None, partition.source_log.end
    throttle.on_response(partition)
    assert throttle.pause_s(10.0, 9.7, first=False) == 0


def test_an_ordinary_topic_that_is_behind_holds_nobody_up():
    throttle, partition = Throttle(), a_partition(a_start())
    partition.source_log.end = 10
    throttle.on_response(partition)
    assert not throttle.yields()


def test_a_preferred_replica_is_read_until_its_lease_ends():
    replicas, here = Replicas("r"), TopicPartition("t", 0)
    replicas.prefer(here, 3, 100.0)
    assert replicas.of(here, 399.0) == 3
    assert replicas.of(here, 400.0) is None


def test_after_a_replica_failed_no_rack_is_named_for_a_while():
    replicas, here = Replicas("r"), TopicPartition("t", 0)
    replicas.prefer(here, 3, 100.0)
    replicas.give_up(here, 101.0)
    assert replicas.of(here, 101.0) is None
    assert (replicas.rack_at(130.0), replicas.rack_at(131.0)) == ("", "r")


@given(st.floats(0, 1e6), st.floats(0.001001, 10), st.integers(1, 500))
def test_up_to_a_thousand_a_second_none_waits(begin, apart, count):
    rate_limit = FetchRateLimit()
    assert not any(rate_limit.pause_s(begin + number * apart) for number in range(1, count))


@given(st.lists(st.floats(0, 0.002), min_size=1, max_size=2000))
def test_whatever_comes_no_more_than_a_thousand_a_second_follow_at_once(pauses):
    """Over any stretch from the start: what a quiet time saved up is the only excess."""
    rate_limit, now, at_once = FetchRateLimit(), 1000.0, 0
    for pause in pauses:
        now += pause
        at_once += not rate_limit.pause_s(now)
        assert at_once <= 50 + (now - 1000.0) * 1000 + 1


def test_a_burst_after_a_quiet_time_is_not_held_up():
    rate_limit = FetchRateLimit()
    assert not any(rate_limit.pause_s(5.0) for _ in range(49))
    assert rate_limit.pause_s(5.0)
    assert not rate_limit.pause_s(5.1)


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=500))
def test_of_responses_that_bring_nothing_no_more_than_twenty_a_second_come(delays):
    rate_limit, now = FetchRateLimit(), 1000.0
    for number, delay in enumerate(delays):
        assert number <= 2 + (now - 1000.0) * 20 + 1e-6
        now += delay
        now += rate_limit.pause_s(now, useless=True)


def test_a_broker_that_waited_for_records_is_asked_again_at_once():
    rate_limit = FetchRateLimit()
    assert [rate_limit.pause_s(each * 0.5, useless=True) for each in range(2, 9)] == [0] * 7
