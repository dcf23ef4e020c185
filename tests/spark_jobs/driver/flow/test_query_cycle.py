"""The queries of a flow: how long an epoch may take, and what is known of the one before."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.settings.configs import a_flow

from replication.supervision.flow_figures import EpochThrottle
from spark_jobs.driver.flow import epoch_stall
from spark_jobs.driver.flow.query_cycle import QueryCycle

# Of an epoch in which nothing happened.
FIGURES = {
    "not_running": 0, "outcome": None, "takeovers": 0, "cpu_s": 0.1, "at_least_once": 0,
    "source_throttled_ms": 0, "target_throttled_ms": 0, "backed_off_to": 0, "cores": 0.1,
    "busiest_core": 0.1,
}  # fmt: skip


class AnEpoch:
    """A query that runs the same epoch for ever."""

    running: tuple[int, int] | None = (3, 1)

    def alive(self) -> bool:
        return True

    def epoch(self) -> tuple[int, int] | None:
        return self.running

    reported: dict | None = None  # the figures of the epoch before

    def figures(self) -> dict | None:
        return self.reported


@pytest.fixture
def cycle(monkeypatch) -> QueryCycle:
    """Return the queries of a flow that is copying, on a clock that stands still: ``clock``."""
    topic_watcher = SimpleNamespace(copied=("some",), number=1, space_problem=str)
    made = QueryCycle(a_flow(), None, topic_watcher, None)
    made.query, made.clock = AnEpoch(), [1000.0]
    monkeypatch.setattr(epoch_stall.time, "monotonic", lambda: made.clock[0])
    made.watch()
    return made


def pass_time(cycle, seconds: int) -> None:
    for _ in range(seconds):
        cycle.clock[0] += 1
        cycle.watch()


def stalls(cycle) -> bool:
    return cycle.stalls(has_slots=lambda: True)


def test_bl_122_an_epoch_that_does_not_end_shows_that_a_process_hangs(cycle):
    for _ in range(4):
        pass_time(cycle, 100)
        cycle.query.running = (cycle.query.running[0] + 1, 1)
        cycle.watch()
        assert not stalls(cycle)
    pass_time(cycle, 150)  # two epochs, as of a task that is tried again, and a takeover
    assert not stalls(cycle)
    pass_time(cycle, 1)
    assert stalls(cycle)


def test_who_was_frozen_for_an_hour_has_not_waited_for_an_hour(cycle):
    cycle.clock[0] += 3600
    cycle.watch()
    assert not stalls(cycle)


def test_without_slots_an_epoch_only_waits(cycle):
    pass_time(cycle, 151)
    assert not cycle.stalls(has_slots=lambda: False)
    assert cycle.slot_shortage.startswith("its units wait: Spark has fewer task slots")
    assert not stalls(cycle), "its time limit starts again"
    pass_time(cycle, 152)
    assert stalls(cycle)


def test_units_that_have_slots_again_end_the_shortage(cycle):
    pass_time(cycle, 151)
    cycle.stalls(has_slots=lambda: False)
    cycle.query.figures = lambda: {**FIGURES, "units": 0}
    cycle.watch()
    assert cycle.slot_shortage == ""


def test_an_epoch_is_given_its_time_from_the_start_of_its_query_on(cycle):
    cycle._lease = SimpleNamespace(status=SimpleNamespace(generation=1), ended=0)
    cycle._topic_watcher.write = lambda **_: None
    cycle._starter = lambda *_: AnEpoch()
    pass_time(cycle, 151)
    cycle.start()
    assert not stalls(cycle)
    cycle.query.running = None
    pass_time(cycle, 151)
    assert stalls(cycle), "no epoch ever began"


def test_no_epoch_is_expected_while_there_is_nothing_to_copy(cycle):
    cycle._topic_watcher.copied = ()
    pass_time(cycle, 200)
    assert not stalls(cycle)
    cycle._topic_watcher.copied = ("some",)
    cycle.watch()
    assert not stalls(cycle)


def test_what_brokers_throttled_is_of_the_last_epoch_and_added_up_over_all(cycle):
    cycle.query.reported = FIGURES | {"target_throttled_ms": 9_000, "backed_off_to": 100_000}
    cycle.watch()
    assert cycle.tally.throttle == EpochThrottle(0, 9_000, 100_000)
    cycle.query.reported = FIGURES
    cycle.watch()
    assert cycle.tally.throttle == EpochThrottle()
    assert cycle.tally.target_throttle_s == 9.0
