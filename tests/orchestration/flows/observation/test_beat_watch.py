"""Drivers whose host's clock is wrong: whether they live is known by the change of their beats."""

from __future__ import annotations

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config

from orchestration.cli.flows import status as command
from orchestration.dagster.resources import Isthmus
from orchestration.flows.observation import beat_watch, flow_reader
from orchestration.flows.observation.beat_watch import BeatWatch
from orchestration.flows.observation.flow_reader import look_at
from orchestration.flows.restart import FlowRestart
from orchestration.flows.status_view import StatusView
from replication.clock import now_ms
from replication.supervision.driver_supervision import applications
from replication.supervision.health import is_alive

HOUR_S = 3600


class Clock:
    """Time as it passes here; ``sleep`` lets it pass, and ``beats`` come meanwhile."""

    def __init__(self) -> None:
        self.now_s, self.started_ms, self.beats = 50.0, now_ms(), lambda: None

    def monotonic(self) -> float:
        return self.now_s

    def now_ms(self) -> int:
        return self.started_ms + int((self.now_s - 50) * 1000)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.beats()


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    for module in (beat_watch, command):
        monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr(flow_reader, "now_ms", found.now_ms)
    return found


@pytest.fixture
def world(clock):
    """A driver on a host whose clock is ``ahead_s`` ahead of ours beats when it is told to."""
    found = World(a_config())

    def beat(ahead_s: float, **more) -> None:
        began_ms = clock.started_ms - HOUR_S * 1000
        at = clock.now_ms() + int(ahead_s * 1000)
        found.copy(3, 10, beat_ms=at, started_ms=began_ms, instance="one", **more)

    found.beat = beat
    return found


@pytest.fixture
def beats():
    return BeatWatch()


@pytest.fixture
def states(world, clock, beats):
    """Return the flow's state, look after look, one each so many seconds."""

    def look(*pauses_s: float) -> list[str]:
        found = []
        for each in pauses_s:
            clock.sleep(each)
            found.append(beats.aged(lambda: look_at(world.config.flows[0], world)).health)
        return [f"{each.state}: {each.reason}"[:40] for each in found]

    return look


DEAD = "DEAD: no driver: last status 15 s ago (p"
RUNNING = "RUNNING: 1 partitions"


def test_a_dead_driver_whose_clock_was_ahead_is_dead_when_its_beat_stands_still(world, states):
    world.beat(ahead_s=HOUR_S)
    assert states(0, 10, 4, 1) == [RUNNING, RUNNING, RUNNING, DEAD]


@pytest.mark.parametrize("ahead_s", [-60, 0, HOUR_S])
def test_a_driver_whose_beat_changes_lives_whatever_its_clock_says(world, states, clock, ahead_s):
    clock.beats = lambda: world.beat(ahead_s)
    assert states(1, 10, 10, 14)[1:] == [RUNNING] * 3
    clock.beats = lambda: None
    assert states(15)[0].startswith("DEAD: no driver: last status ")


def test_one_that_died_while_nobody_looked_is_dead_by_the_clocks_at_once(world, states, clock):
    world.beat(ahead_s=0)
    assert states(0) == [RUNNING]
    clock.sleep(HOUR_S / 2)
    world.beat(ahead_s=0)
    assert states(HOUR_S / 2)[0].startswith("DEAD: no driver: last status 1800 s ago")


def test_a_driver_whose_clock_is_behind_lives_also_where_looks_are_far_apart(world, states, clock):
    """While another cluster of the file is silent a round of Dagster's takes 20 s."""
    clock.beats = lambda: world.beat(ahead_s=-30)
    assert states(1, 20, 20, 50)[1:] == [RUNNING] * 3
    clock.beats = lambda: None
    assert states(20)[0].startswith("DEAD: no driver")


def test_one_that_died_between_looks_far_apart_is_dead_at_the_second_one(world, states, clock):
    world.beat(ahead_s=0)
    states(0)
    clock.sleep(2)
    world.beat(ahead_s=0)
    assert states(18, 1) == [RUNNING, DEAD]


def test_a_look_that_another_one_overtook_changes_nothing(world, states, clock, beats):
    """It waited for a slow source, with the older one of two beats."""

    def overtaken():
        found = look_at(world.config.flows[0], world)
        clock.sleep(1)
        world.beat(ahead_s=HOUR_S)
        assert states(0) == [RUNNING]
        clock.sleep(8)
        return found

    world.beat(ahead_s=HOUR_S)
    states(0)
    assert beats.aged(overtaken).seen.beat_age_ms == 8_000
    assert states(6, 1) == [RUNNING, DEAD]


def test_a_beat_is_no_younger_than_the_beginning_of_the_look_that_did_not_find_it(
    world, states, clock, beats
):
    def slow():
        found = look_at(world.config.flows[0], world)
        clock.sleep(10)
        return found

    world.beat(ahead_s=-HOUR_S)
    beats.aged(slow)
    world.beat(ahead_s=-HOUR_S)
    assert states(60)[0].startswith("DEAD: no driver: last status 70 s ago")


def test_one_that_does_not_get_beyond_its_start_is_dead_after_a_minute(world, states):
    world.beat(ahead_s=HOUR_S, state="STARTING", starts_again=True, reason="an edit")
    assert [each.split(":")[0] for each in states(0, 50, 11)] == ["STARTING", "STARTING", "DEAD"]


def test_while_the_target_is_silent_time_counts_on(world, states):
    world.beat(ahead_s=HOUR_S)
    states(0)
    world.target.silent = True
    states(8)
    world.target.silent = False
    assert states(7) == [DEAD]


class Plant(Isthmus):
    """The resource of a world that it looks at itself."""

    def clusters(self):
        return WORLDS[self.config_path]

    launcher = clusters


WORLDS: dict[str, World] = {}


def test_dagster_and_a_restart_learn_it_from_look_to_look(world, clock):
    (app,) = applications(world.config)
    WORLDS["beats"], flow = world, world.config.flows[0]
    plant, restart = Plant("beats", "/nowhere"), FlowRestart(flow, app, world, world, 5)
    world.beat(ahead_s=HOUR_S)

    def alive() -> list[bool]:
        (look,) = plant.look([(flow, app)])
        return [is_alive(e.seen.status, e.seen) for e in (look, restart._look())]

    assert alive() == [True, True]
    clock.sleep(15)
    assert alive() == [False, False]


@pytest.mark.parametrize(("lives", "state", "took_s"), [(False, "DEAD", 16), (True, "RUNNING", 1)])
def test_status_looks_on_while_a_beat_is_ahead_of_our_clock(world, clock, lives, state, took_s):
    world.beat(ahead_s=HOUR_S)
    clock.beats = lambda: world.beat(HOUR_S) if lives else None
    view = StatusView(world.config, world, world)
    (found,) = command.settled(view, view.look())
    assert (found.health.state, clock.now_s - 50) == (state, took_s)


def test_status_waits_for_no_beat_of_a_driver_that_stopped_or_whose_clock_is_right(world, clock):
    view = StatusView(world.config, world, world)
    for beat in ({"ahead_s": 1}, {"ahead_s": HOUR_S, "state": "STOPPED"}):
        world.beat(**beat)
        command.settled(view, view.look())
    assert clock.now_s == 50
