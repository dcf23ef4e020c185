"""Small answers follow each other at once up to a rate, and no faster for long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replication.copier.thrift import Thrift


@given(st.floats(0, 1e6), st.floats(0.001001, 10), st.integers(1, 500))
def test_up_to_a_thousand_a_second_none_waits(begin, apart, count):
    thrift = Thrift()
    assert not any(thrift.rests(begin + number * apart) for number in range(1, count))


@given(st.lists(st.floats(0, 0.002), min_size=1, max_size=2000))
def test_whatever_comes_no_more_than_a_thousand_a_second_follow_at_once(pauses):
    """Over any stretch from the start: what a quiet time saved up is the only excess."""
    thrift, now, at_once = Thrift(), 1000.0, 0
    for pause in pauses:
        now += pause
        at_once += not thrift.rests(now)
        assert at_once <= 50 + (now - 1000.0) * 1000 + 1


def test_a_burst_after_a_quiet_time_is_not_held_up():
    thrift = Thrift()
    assert not any(thrift.rests(5.0) for _ in range(49))
    assert thrift.rests(5.0)
    assert not thrift.rests(5.1)
