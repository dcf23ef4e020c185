"""Progress of `isthmus run` until the flows copy: one line per stage, on a terminal or not."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from support.fakes.fake_flows import World
from support.settings.configs import a_config

from orchestration.cli.local import live
from orchestration.cli.local.live import Show
from orchestration.cli.local.run import operate
from orchestration.cli.screen.stage import stage
from orchestration.flows.status_view import StatusView
from orchestration.services.local_session import Ending
from replication.clock import now_ms
from replication.errors import EnvironmentProblem


class Screen:
    """A console of 80 columns whose output can be read."""

    def __init__(self, *, terminal: bool) -> None:
        self.file = io.StringIO()
        self.console = Console(
            file=self.file, width=80, force_terminal=terminal, color_system=None, soft_wrap=True
        )

    @property
    def lines(self) -> list[str]:
        return self.file.getvalue().splitlines()


@pytest.fixture
def screen() -> Screen:
    return Screen(terminal=False)


@pytest.fixture
def world() -> World:
    return World(a_config())


class Looks:
    """A panel; before its look number ``at`` something happens to the world."""

    def __init__(self, world: World, events: dict) -> None:
        self._panel = StatusView(world.config, world, world)
        self._events, self.count = events, 0

    def look(self):
        self.count += 1
        self._events.get(self.count, lambda: None)()
        return self._panel.look()


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(Ending, "wait", lambda *_: False)


def test_without_a_terminal_a_stage_has_a_line_at_its_beginning_and_one_at_its_end(screen):
    with stage(screen.console, "starting Dagster"):
        assert screen.lines == ["starting Dagster ..."]
    assert screen.lines == ["starting Dagster ...", "starting Dagster ... ok (0 s)"]


def test_on_a_terminal_one_line_of_a_stage_stays():
    screen = Screen(terminal=True)
    with stage(screen.console, "starting Dagster"):
        pass
    assert screen.lines[-1].endswith("starting Dagster ... ok (0 s)")
    assert "starting Dagster ... 0 s" in screen.file.getvalue()


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(EnvironmentProblem("no Java"), "failed"), (KeyboardInterrupt(), "interrupted")],
)
def test_a_stage_that_does_not_end_well_says_so(screen, error, outcome):
    with pytest.raises(type(error)), stage(screen.console, "starting Dagster"):
        raise error
    assert screen.lines[-1] == f"starting Dagster ... {outcome} (0 s)"


def test_while_the_driver_starts_nothing_is_reported_of_one_that_is_missing(screen, world):
    def report() -> None:
        world.watched = world.driven = {"B"}
        world.copy(records=0, end=10, state="STARTING")

    def run() -> None:
        world.copy(records=0, end=10)

    show = Show(screen.console, Ending())
    show.until_up(Looks(world, {5: report, 8: run}), None)
    spark = "starting Spark (half a minute; the first time a minute) ..."
    assert screen.lines == [spark, f"{spark} ok (0 s)"]


def test_a_slow_start_says_what_it_waits_for_now_and_then(screen, world, monkeypatch):
    monkeypatch.setattr(live, "SLOW_START_S", -1.0)
    show = Show(screen.console, Ending())
    show.until_up(Looks(world, {9: lambda: world.copy(records=0, end=10)}), None)
    assert screen.lines[1:-1] == ["after 0 s: A->B: its driver has not reported yet"]


def test_a_start_of_more_than_a_minute_names_the_logs(screen, world, monkeypatch):
    monkeypatch.setattr(live, "SLOW_START_S", -1.0)
    monkeypatch.setattr(live, "LONG_START_S", -1.0)
    show = Show(screen.console, Ending())
    show.until_up(Looks(world, {9: lambda: world.copy(records=0, end=10)}), None)
    (line,) = (each for each in screen.lines if each.startswith("after 0 s"))
    assert "A->B: its driver has not reported yet; logs: " in line


def test_each_step_of_a_start_is_named_once_and_what_an_earlier_driver_said_is_not(
    screen, world, monkeypatch
):
    monkeypatch.setattr(live, "SLOW_START_S", -1.0)
    world.copy(records=3, end=10, state="STOPPED", reason="of the one before", started_ms=1)

    def step(reason: str) -> None:
        world.watched = world.driven = {"B"}
        world.copy(records=0, end=10, state="STARTING", reason=reason, started_ms=now_ms())

    steps = {
        3: lambda: step("reading both clusters"),
        4: lambda: step("reading both clusters"),
        6: lambda: step("starting Spark"),
        8: lambda: world.copy(records=0, end=10),
    }
    Show(screen.console, Ending()).until_up(Looks(world, steps), None)
    assert [each.partition(": ")[2] for each in screen.lines if each.startswith("after")] == [
        "A->B: its driver has not reported yet",
        "A->B: reading both clusters",
        "A->B: starting Spark",
    ]


def test_flows_that_do_not_start_in_time_are_an_error_that_says_why(screen, world):
    world.target.silent = True
    with pytest.raises(EnvironmentProblem, match="did not start within 0 s: A->B: target cluster"):
        Show(screen.console, Ending()).until_up(Looks(world, {}), 0.0)
    assert screen.lines[-1].endswith("... failed (0 s)")


def test_the_first_records_are_waited_for(screen, world):
    world.copy(records=0, end=10)
    looks = Looks(world, {4: lambda: world.copy(records=3, end=10)})
    Show(screen.console, Ending()).until_first_records(looks, looks.look())
    assert screen.lines[:2] == [
        "waiting for the first records ...",
        "waiting for the first records ... ok (0 s)",
    ]
    assert screen.lines[2].startswith("copying since ")


def test_a_source_without_records_is_not_waited_for_long(screen, world, monkeypatch):
    monkeypatch.setattr(live, "FIRST_RECORDS_S", 0.0)
    world.copy(records=0, end=0)
    looks = Looks(world, {})
    Show(screen.console, Ending()).until_first_records(looks, looks.look())
    assert screen.lines[-1] == "waiting for the first records ... none yet (0 s)"


def test_no_records_are_waited_for_where_no_flow_runs(screen, world):
    looks = Looks(world, {})
    Show(screen.console, Ending()).until_first_records(looks, looks.look())
    assert screen.lines == []


class Services:
    """Dagster's services, which start and stop at once."""

    ui = False

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def wait_for_ui(self, _: Ending) -> None:
        self.calls.append("wait")

    def stop(self) -> None:
        self.calls.append("stop")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param({}, "", id="it copies"),
        pytest.param(
            {"partitions": 0, "reason": "no topic of A matches x"},
            "DEGRADED: copies nothing: no topic of A matches x",
            id="no topic matches",
        ),
        pytest.param(
            {"state": "FAILED", "reason": "Spark has 0 free slots"},
            "FAILED: Spark has 0 free slots",
            id="Spark lacks slots",
        ),
        pytest.param(
            {"state": "DEGRADED", "not_running": 1, "reason": "orders-0: too large"},
            "DEGRADED: orders-0: too large",
            id="a partition is halted",
        ),
    ],
)
def test_a_detached_run_says_what_is_not_well_and_leaves_the_flows(screen, world, status, reason):
    world.copy(records=0, end=10, **status)
    session = Services()
    found = operate(session, Looks(world, {}), Show(screen.console, Ending()), None, detach=True)
    assert found == (f"1 of 1 flow not healthy: A->B is {reason}" if reason else "")
    assert session.calls == ["start", "wait"]
    assert screen.lines[-1] == "left running; stop it with `isthmus down`"


def test_a_detached_run_waits_until_the_units_have_begun(screen, world):
    def begin() -> None:
        world.copy(records=3, end=10)

    world.copy(records=0, end=10)
    world.target.topics["isthmus-anchors.A.internal"].clear()
    looks = Looks(world, {3: begin})
    assert operate(Services(), looks, Show(screen.console, Ending()), None, detach=True) == ""
    assert looks.count == 3


def test_what_a_detached_run_waits_for_is_said(screen, world, monkeypatch):
    monkeypatch.setattr(live, "SLOW_START_S", -1.0)
    world.copy(records=0, end=10, started_ms=now_ms() + 1000)  # after this start
    world.target.topics["isthmus-anchors.A.internal"].clear()
    looks = Looks(world, {3: lambda: world.copy(records=3, end=10)})
    Show(screen.console, Ending()).until_up(looks, None)
    (line,) = (each for each in screen.lines if each.startswith("after"))
    assert line.endswith("A->B: its units begin 1 partitions")


def test_a_run_after_a_stop_waits_for_its_own_driver(screen, world):
    world.copy(records=3, end=10, state="STOPPED")
    looks = Looks(world, {3: lambda: world.copy(records=3, end=10)})
    assert operate(Services(), looks, Show(screen.console, Ending()), None, detach=True) == ""
    assert looks.count == 3
