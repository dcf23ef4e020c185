"""The age of a group's offset, from its reads and the observed offsets."""

from __future__ import annotations

from bench.staleness import At, judge

READ = [At(100.0 + n, 1000 * n) for n in range(60)]  # 1,000 records a second


def test_a_position_is_as_old_as_the_moment_when_the_group_stood_there():
    seen = [At(105.0, 0), At(120.0, 15_000), At(130.5, 30_000)]
    assert judge(READ, seen) == [(5.0, 5000), (0.0, 0)]


def test_the_first_seconds_do_not_count():
    assert judge(READ, [At(110.0, 1000), At(119.9, 2000), At(120.0, 12_000)]) == [(8.0, 8000)]


def test_nothing_seen_is_nothing_judged():
    assert judge(READ, []) == []
