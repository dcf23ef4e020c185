from dataclasses import replace

import pytest

from replication.errors import FlowTaken
from replication.model import FlowState
from replication.state import FlowStatus
from replication.supervision.driver_lease import (
    WATCH_MS,
    Holder,
    Take,
    Watch,
    check_lease,
    decide_lease,
    keep_lease,
)

OTHER = FlowStatus(
    flow="A->B",
    state=FlowState.RUNNING,
    generation=4,
    instance="other",
    host="node-1",
    pid=77,
    started_ms=1_700_000_000_000,
    beat_ms=1000,
)
MINE = replace(OTHER, generation=5, instance="mine", host="node-2", pid=88)


def decide(first, newest, watched_ms=0, holder=Holder.UNKNOWN):
    return decide_lease(first, newest, watched_ms, holder)


def test_the_first_driver_of_a_flow_takes_generation_1():
    assert decide(None, None) == Take(1)


def test_a_status_that_is_gone_neither_lowers_the_generation_nor_hides_a_driver_that_lives():
    assert decide_lease(None, None, 0, Holder.UNKNOWN, 7) == Watch(WATCH_MS)
    assert decide_lease(None, None, WATCH_MS, Holder.UNKNOWN, 7) == Take(8)
    with pytest.raises(FlowTaken):
        decide_lease(None, OTHER, 500, Holder.UNKNOWN, 7)


def test_a_driver_that_stopped_cleanly_is_followed_at_once():
    stopped = replace(OTHER, state=FlowState.STOPPED)
    assert decide(stopped, stopped) == Take(5)


def test_a_driver_known_to_be_dead_is_followed_at_once():
    assert decide(OTHER, OTHER, holder=Holder.GONE) == Take(5)


def test_another_holder_is_watched_before_its_flow_is_taken():
    assert decide(OTHER, OTHER) == Watch(WATCH_MS)
    assert decide(OTHER, OTHER, 1000) == Watch(WATCH_MS - 1000)
    assert decide(OTHER, OTHER, WATCH_MS) == Take(5)


@pytest.mark.parametrize("beat_ms", [1001, 2000, 1], ids=["just", "a second", "clock set back"])
def test_a_beat_while_we_watch_means_that_the_flow_is_taken(beat_ms):
    with pytest.raises(FlowTaken) as refused:
        decide(OTHER, replace(OTHER, beat_ms=beat_ms), 500)
    assert str(refused.value) == (
        "flow A->B is copied by another driver: process 77 on node-1, since "
        "2023-11-14 22:13:20 UTC (generation 4). Stop that driver first, or do not start this one"
    )


def test_a_driver_that_appears_while_we_watch_has_the_flow():
    with pytest.raises(FlowTaken):
        decide(None, OTHER)
    with pytest.raises(FlowTaken):
        decide(OTHER, replace(OTHER, instance="third"))


def test_clocks_do_not_matter_a_beat_from_far_in_the_future_is_only_watched():
    ahead = replace(OTHER, beat_ms=9_999_999_999_999)
    assert decide(ahead, ahead, WATCH_MS) == Take(5)


def test_ours_alone_is_ours():
    check_lease(MINE, [MINE])


def test_late_beats_of_the_one_before_do_not_matter():
    check_lease(MINE, [OTHER, MINE, replace(OTHER, beat_ms=2000)])


def test_of_the_same_generation_the_one_that_was_written_first_wins():
    rival = replace(MINE, instance="rival", pid=99)
    check_lease(MINE, [MINE, rival])
    with pytest.raises(FlowTaken, match="process 99"):
        check_lease(MINE, [rival, MINE])


def test_exactly_one_of_two_that_write_at_the_same_time_gets_the_flow():
    rival = replace(MINE, instance="rival")
    for log in ([MINE, rival], [rival, MINE]):
        refused = 0
        for each in (MINE, rival):
            try:
                check_lease(each, log)
            except FlowTaken:
                refused += 1
        assert refused == 1


def test_a_higher_generation_wins_wherever_it_stands():
    higher = replace(MINE, instance="third", generation=6)
    for log in ([higher, MINE], [MINE, higher]):
        with pytest.raises(FlowTaken, match="generation 6"):
            check_lease(MINE, log)


def test_a_driver_goes_on_until_it_sees_a_higher_generation():
    keep_lease(MINE, MINE)
    keep_lease(MINE, OTHER)
    keep_lease(MINE, replace(MINE, instance="rival"))
    with pytest.raises(FlowTaken):
        keep_lease(MINE, replace(OTHER, generation=6))
