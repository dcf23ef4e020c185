"""The same seed draws the same faults; every kind of fault comes up."""

from __future__ import annotations

import pytest

from chaos.schedule import FaultKind, Side, draw
from chaos.stage import FORGETFUL

EXPIRIES = ("transactional.id.expiration.ms", "producer.id.expiration.ms")


def test_a_seed_draws_the_same_schedule_every_time():
    assert draw(7, 10) == draw(7, 10)
    assert draw(7, 10) != draw(8, 10)


def test_a_shorter_run_begins_with_the_same_faults():
    short, long = draw(7, 3).faults, draw(7, 10).faults
    assert [each[:3] for each in short] == [each[:3] for each in long[: len(short)]]


def test_brokers_may_be_chosen_by_hand():
    assert {draw(seed, 1).brokers for seed in range(20)} == {1, 3}
    assert {draw(seed, 1, 3).brokers for seed in range(20)} == {3}


def test_about_half_of_the_seeds_have_a_target_that_forgets_silent_producers():
    forgetful = [draw(seed, 1).forgetful for seed in range(40)]
    assert 10 <= sum(forgetful) <= 30


def test_a_session_sleeps_for_longer_than_the_target_remembers_its_ids():
    slept = [
        f.for_s
        for seed in range(20)
        for f in draw(seed, 20).faults[:-30]
        if f.kind is FaultKind.FREEZE_SESSION
    ]
    expiries = (int(FORGETFUL[key]) / 1000 for key in EXPIRIES)
    assert min(slept) > max(expiries) + 10


def test_all_faults_are_over_before_the_time_is():
    for seed in range(20):
        for each in draw(seed, 2).faults:
            assert each.at_s + each.for_s < 120


@pytest.mark.parametrize(("brokers", "never"), [(1, {FaultKind.MOVE_LEADERS}), (3, set())])
def test_every_kind_of_fault_comes_up_where_it_is_possible(brokers, never):
    drawn = {each.kind for seed in range(20) for each in draw(seed, 10, brokers).faults}
    assert drawn == set(FaultKind) - never


def test_faults_of_a_cluster_say_which_one():
    faults = [each for seed in range(20) for each in draw(seed, 10).faults]
    broken = {each.side for each in faults if each.kind is FaultKind.OUTAGE}
    assert broken == {Side.SOURCE, Side.TARGET}
    assert {each.side for each in faults if each.kind is FaultKind.KILL_JVM} == {None}
    assert {each.side for each in faults if each.kind is FaultKind.COMPACT} == broken
    assert {each.side for each in faults if each.kind is FaultKind.LOSE_STATE} == {Side.TARGET}
    assert {each.side for each in faults if each.kind is FaultKind.SWAP} == {Side.SOURCE}
