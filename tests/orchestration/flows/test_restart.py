"""A restart: the flow is asked to stop, then to run, and each half is waited for."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config

from orchestration.flows.observation import beat_watch
from orchestration.flows.restart import FlowRestart
from replication.errors import ClusterRejected, EnvironmentProblem
from replication.model import Desired
from replication.state import Intent, status_topic
from replication.supervision.driver_supervision import Application

APP = Application("B", "B", ("A->B",))
SHARED = Application("B", "B", ("A->B", "C->B"))


def desired(world):
    records = world.target.read(status_topic("A")).values()
    return [each.desired for each in records if isinstance(each, Intent)]


def restart(world, *events, limit_s=5.0, app=SHARED):
    """Return a restart; before each wait one of ``events`` happens."""
    left = list(events)
    return FlowRestart(
        world.config.flows[0], app, world, world, limit_s, lambda _: left and left.pop(0)()
    )


@pytest.fixture
def world():
    found = World(a_config())
    found.copy(records=3, end=3)
    return found


def test_the_flow_is_stopped_and_then_runs_again(world):
    def stopped():
        assert desired(world) == [Desired.STOP]
        world.copy(records=3, end=3, state="STOPPED")

    def started():
        assert desired(world) == [Desired.RUN]
        world.copy(records=3, end=3)

    work = restart(world, lambda: None, stopped, lambda: None, started)
    work.refuse()
    work.stop()
    work.start()
    work.wait()
    assert desired(world) == [Desired.RUN]


def test_a_flow_that_does_not_stop_is_asked_to_run_all_the_same(world):
    work = restart(world, limit_s=0.0)
    with pytest.raises(EnvironmentProblem, match="A->B: after 0 s it does not stop"):
        work.stop()
    work.start()
    work.wait()
    assert desired(world) == [Desired.RUN]


def test_a_paused_flow_is_not_restarted(world):
    world.target.write(status_topic("A"), Intent("A->B", Desired.PAUSE, "me@here", 1))
    with pytest.raises(
        ClusterRejected, match=r"has the desired state pause, set by me@here: .* --flow A:B"
    ):
        restart(world).refuse()


def test_an_application_that_ends_with_its_only_flow_has_ended_before_that_is_to_run(
    world, monkeypatch
):
    def stopped():
        world.copy(records=3, end=3, state="STOPPED")

    def ended():
        monkeypatch.setattr(beat_watch, "time", SimpleNamespace(monotonic=lambda: until_s))

    seen, until_s = [], time.monotonic() + 60
    work = restart(world, stopped, ended, lambda: seen.append("too late"), app=APP)
    work.stop()
    assert seen == []
    assert desired(world) == [Desired.STOP]


def test_a_driver_that_has_stopped_its_only_flow_and_lives_is_waited_for(world):
    world.copy(records=3, end=3, state="STOPPED")
    with pytest.raises(EnvironmentProblem, match="it does not stop"):
        restart(world, limit_s=0.0, app=APP).stop()


def test_a_flow_that_cannot_be_asked_to_run_is_named_with_what_to_do(world):
    world.target.silent = True
    world.target.write = world.target.read  # raises, as a cluster that is silent does
    with pytest.raises(EnvironmentProblem, match=r"A->B may still be asked to stop: .*--flow A:B"):
        restart(world).start()
