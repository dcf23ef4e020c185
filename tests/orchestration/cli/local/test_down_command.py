"""``isthmus down`` says what it stopped, where it looked, and what it could not stop."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from orchestration.cli.main import app
from orchestration.services import local_session
from replication.adapters.local.files import make_private
from replication.adapters.local.processes import Process, remember, spawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def left_running(home) -> Iterator[Callable[[str], Process]]:
    """Start a process whose pid file is in a folder of the state directory."""
    started: list[Process] = []

    def start(file: str) -> Process:
        path = home / file
        make_private(*reversed([each for each in path.parents if each.is_relative_to(home)]))
        process = spawn([sys.executable, "-c", "import time; time.sleep(60)"], home / "log")
        remember(process, path)
        started.append(process)
        return process

    yield start
    for each in started:
        each.stop(5)


def down():
    return CliRunner().invoke(app, ["down"])


def test_a_state_directory_from_which_nothing_runs_is_named(home):
    result = down()
    assert result.exit_code == 0
    assert f"nothing runs from state directory {home}" in result.output


def test_what_was_stopped_is_named_also_of_drills_and_backfills(left_running):
    files = ("dagster/web.pid", "apps/B/watcher.pid", "drills/A_to_B/apps/B/watcher.pid",
             "backfills/x/apps/A->B/watcher.pid")  # fmt: skip
    processes = [left_running(each) for each in files]
    result = down()
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [
        "Dagster: stopped",
        "application B: stopped",
        "application A->B of backfills/x: stopped",
        "application B of drills/A_to_B: stopped",
    ]
    assert not any(each.alive() for each in processes)


def test_what_does_not_end_is_named_with_exit_code_1(home, left_running, monkeypatch):
    left_running("apps/B/watcher.pid")
    with monkeypatch.context() as patch:
        patch.setattr(local_session, "STOP_S", 0.2)
        patch.setattr(Process, "signal", lambda *_: None)  # as one that a broken disk holds
        result = down()
    assert result.exit_code == 1
    assert "application B: still runs\n" in result.output
    assert result.output.endswith(f"still running from state directory {home}: application B\n")
