"""How many units a flow has, by their load: more where they help, fewer when they idle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.budget.unit_count import EpochLoad, UnitCount

EPOCH_S = 30.0


def seen(count: UnitCount, loads, begin: float = 0.0) -> list[int]:
    """Return the number of units after each epoch."""
    return [count.see(each, begin + n * EPOCH_S) for n, each in enumerate(loads)]


def even(count: UnitCount, demand: float, partitions: int = 100) -> EpochLoad:
    """Return the load where the demand, in cores, is spread over all units."""
    each = min(1.0, demand / count.units)
    return EpochLoad(each, each * count.units, partitions)


def after(count: UnitCount, demand, epochs: int, begin: int = 0, partitions: int = 100) -> list:
    return [
        count.see(even(count, demand, partitions), (begin + n) * EPOCH_S) for n in range(epochs)
    ]


def test_a_unit_that_uses_its_core_for_a_minute_gets_a_second_one():
    assert seen(UnitCount(1, 4), [EpochLoad(0.9, 0.9, 9)] * 4) == [1, 1, 2, 2]


def test_twice_as_many_each_time_and_never_more_than_allowed():
    assert sorted({*after(UnitCount(1, 6), 20.0, 40)}) == [1, 2, 4, 6]


def test_a_short_peak_changes_nothing():
    loads = [EpochLoad(1.0, 1.0, 9), EpochLoad(1.0, 1.0, 9), EpochLoad(0.7, 0.7, 9)] * 20
    assert {*seen(UnitCount(1, 4), loads)} == {1}


def test_a_unit_that_waits_for_brokers_stays_alone_however_far_behind():
    assert {*seen(UnitCount(1, 4), [EpochLoad(0.3, 0.3, 9)] * 100)} == {1}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_epochs_with_a_takeover_or_a_throttle_begin_the_minute_anew(place):
    loads = [EpochLoad(1.0, 1.0, 9)] * 3
    loads[place] = EpochLoad(1.0, 1.0, 9, is_typical=False)
    assert {*seen(UnitCount(1, 4), loads * 20)} <= {1}


def test_no_unit_would_have_nothing_to_copy():
    assert {*after(UnitCount(1, 8), 20.0, 40, partitions=3)} == {1, 2, 3}


def test_units_that_do_not_help_are_taken_back_and_not_tried_again():
    """One partition is all the load: whatever the number of units, one is busy."""
    count = UnitCount(1, 8)
    found = seen(count, [EpochLoad(1.0, 1.0, 9)] * 400)
    assert found[:6] == [1, 1, 2, 2, 2, 1]
    assert {*found[6:]} == {1}
    seen(count, [EpochLoad(0.4, 0.4, 9)], 400 * EPOCH_S)
    assert 2 in after(count, 3.0, 10, 401), "after a rest it is another load"


def test_units_that_spread_a_load_which_did_not_grow_stay_and_take_more_of_it_later():
    """All units were busy, and are a little less so with one more: it was of use."""
    count = UnitCount(1, 5)
    assert {*after(count, 4.0, 120, partitions=5)[20:]} == {5}
    assert {*after(count, 5.0, 120, 120, partitions=5)} == {5}


def test_idle_units_go_after_ten_minutes():
    count = UnitCount(1, 8)
    assert after(count, 7.0, 20)[-1] == 8
    found = after(count, 1.2, 40, 20)
    assert found.index(3) == 20
    assert found[-1] == 3
    assert after(count, 0.0, 40, 60)[-1] == 1


def test_the_fewest_stay():
    assert {*after(UnitCount(3, 8), 0.0, 100)} == {3}


def test_without_a_range_the_number_stays():
    count = UnitCount(4, 4)
    assert {*after(count, 50.0, 50), *after(count, 0.0, 100, 50)} == {4}


def test_an_edit_of_the_file_is_in_force_at_once():
    count = UnitCount(1, 8)
    after(count, 7.0, 20)
    count.limit(2, 4)
    assert count.units == 4
    count.limit(5, 6)
    assert count.units == 5


@given(
    st.integers(1, 8), st.integers(0, 8), st.integers(1, 40),
    st.lists(st.floats(0, 20), min_size=1, max_size=6),
)  # fmt: skip
def test_it_keeps_its_bounds_and_settles_under_a_steady_load(least, more, partitions, demands):
    count, begin = UnitCount(least, least + more), 0
    for demand in demands:
        found = after(count, demand, 120, begin, partitions)
        begin += 120
        assert all(least <= each <= least + more for each in found)
        assert len({*found[-40:]}) == 1, "it goes to and fro"
        enough = min(least + more, max(partitions, least))
        assert count.units >= min(demand, enough) * 0.9
