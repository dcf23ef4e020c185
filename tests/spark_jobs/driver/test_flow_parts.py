"""What drives a flow by its load: the number of units, and what follows from it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs
from support.settings.config_files import TWO, loaded

from spark_jobs.budget.unit_count import EpochLoad
from spark_jobs.driver import flow_parts
from spark_jobs.driver.flow_parts import FlowParts
from spark_jobs.process.appdir import AppDir

RANGE = TWO + "tasks.min = 1\ntasks.max = 4\ncopy.max.bytes.per.second = 4000000\n"


class Driven:
    """Stands for the driver of a flow: it keeps what it is told to follow."""

    def __init__(self, parts: FlowParts) -> None:
        self.flow, self.load, self.followed = parts.flow("A->B"), None, []
        self.lease = SimpleNamespace(status=SimpleNamespace(generation=3))
        self.tasks = SimpleNamespace(replace=lambda _: [])
        self.cycle = SimpleNamespace(take_load=lambda: self.load)

    def follow(self, flow, planner, settings):
        self.flow = flow
        self.followed.append((flow.copying.units, settings.copying.bytes_per_second))


def _no_session():
    raise AssertionError("these flows have no transform")


@pytest.fixture
def parts_of(tmp_path, monkeypatch):
    """Make the parts of a file; their planner is not asked."""
    monkeypatch.setattr(FlowParts, "_planner", lambda *_: None)
    monkeypatch.setattr(FlowParts, "_tasks", lambda *_: ())
    moment = [0.0]
    monkeypatch.setattr(flow_parts.time, "monotonic", lambda: moment[0])
    made = []

    def make(text: str):
        config = loaded(tmp_path, text).config
        made.append(FlowParts(config, config.flows, AppDir(tmp_path / "B"), _no_session))
        return made[-1], moment

    yield make
    for each in made:
        each.pool.shutdown()


def test_a_busy_unit_gets_others_and_each_a_share_of_the_budget(parts_of):
    parts, moment = parts_of(RANGE)
    driven = Driven(parts)
    assert driven.flow.copying.units == 1
    driven.load = EpochLoad(0.95, 0.95, 8)
    with capture_logs() as logs:
        for moment[0] in (0.0, 30.0, 60.0, 61.0):
            parts.follow_load(driven)
    assert driven.followed == [(2, 2_000_000)]
    (log,) = logs
    assert (log["event"], log["before"], log["units"]) == ("number of units changed", 1, 2)
    assert parts.flow("A->B").copying.units == 2
    assert parts.config.flow("A->B").copying.units == 4


def test_without_a_range_or_a_new_epoch_nothing_changes(parts_of):
    parts, moment = parts_of(TWO + "tasks.max = 4\n")
    driven = Driven(parts)
    assert driven.flow.copying.units == 4
    for load in (EpochLoad(1.0, 4.0, 8), None):
        driven.load = load
        for n in range(50):
            moment[0] = n * 30.0
            parts.follow_load(driven)
    assert driven.followed == []


def test_an_edit_keeps_the_number_within_its_new_range(parts_of, tmp_path):
    parts, moment = parts_of(RANGE)
    driven = Driven(parts)
    driven.load = EpochLoad(0.95, 0.95, 8)
    for moment[0] in (0.0, 30.0, 60.0):
        parts.follow_load(driven)
    assert driven.flow.copying.units == 2
    edited = loaded(tmp_path, RANGE.replace("tasks.min = 1", "tasks.min = 3")).config
    parts.follow(edited, [driven])
    assert driven.flow.copying.units == 3
