"""The keeper of Dagster's services on a disk that has no space left."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from support.fakes.full_disk import Disk

from orchestration.services.keeper import (
    Service,
    _note,
    _pid_file,
    _revive,
    _shorten_logs,
)
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory, prepare
from replication.adapters.local.processes import recall
from replication.supervision.driver_supervision import Application

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]
APP = Application("B", "B", ("A->B",))


@pytest.fixture
def where(tmp_path) -> StateDirectory:
    prepare(StateDirectory(tmp_path))
    return StateDirectory(tmp_path)


def test_bl_236_a_service_is_kept_although_its_pid_file_cannot_be_written(where, monkeypatch):
    disk = Disk(where.root, monkeypatch)
    service = Service("web", SLEEPS)
    disk.fill()
    _revive(service, where, time.monotonic())
    try:
        _note(service, where)
        assert not service.noted
        assert service.process.alive()
        disk.free()
        _note(service, where)
        assert recall(_pid_file(where, "web")) == service.process
    finally:
        service.process.stop(5)


def test_bl_236_a_service_without_space_for_its_log_is_tried_again_later(where):
    where.logs.rmdir()
    service = Service("web", SLEEPS)
    _revive(service, where, 100.0)
    assert service.process is None
    assert service.not_before_s > 100.0


def test_bl_236_no_watcher_runs_that_nobody_would_find(where, tmp_path, monkeypatch):
    disk = Disk(where.root, monkeypatch)
    launcher = Launcher(where, tmp_path / "f.properties")
    monkeypatch.setattr(Launcher, "command", lambda *_: [*SLEEPS, str(tmp_path)])
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        launcher.start(APP)
    disk.free()
    assert not launcher.watcher_alive(APP)
    found = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False)
    assert found.stdout == b""


def test_long_logs_of_all_services_are_moved_aside(where, monkeypatch):
    monkeypatch.setattr("replication.adapters.local.files._LOG_BYTES", 3)
    for name in ("code", "daemon", "web", "keeper"):
        (where.logs / f"{name}.log").write_text("long")
    _shorten_logs(where, 15.0)
    assert (where.logs / "web.log").read_text() == "long", "not looked at all the time"
    _shorten_logs(where, 30.1)
    found = {each.name: each.read_text() for each in where.logs.iterdir()}
    assert found == {
        f"{name}.log{tail}": text
        for name in ("code", "daemon", "web", "keeper")
        for tail, text in (("", ""), (".1", "long"))
    }
