"""Locks by which processes see each other."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time

import pytest

from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory
from replication.supervision.driver_supervision import Application

APP = Application("B", "B", ("A->B",))
ACTS = """
import sys
from pathlib import Path
from orchestration.services.state_directory import StateDirectory
from orchestration.services.launcher import Launcher
from replication.supervision.driver_supervision import Application
launcher = Launcher(StateDirectory(Path(sys.argv[1])), Path("f"))
with launcher.acting(Application("B", "B", ("A->B",))):
    print("acts", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def launcher(tmp_path) -> Launcher:
    return Launcher(StateDirectory(tmp_path), tmp_path / "f.properties")


def test_bl_126_that_a_process_acts_is_seen_until_it_is_killed(launcher, tmp_path):
    assert not launcher.is_acted_on(APP)
    with subprocess.Popen(
        [sys.executable, "-c", ACTS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"acts\n"
        assert launcher.is_acted_on(APP)
        process.kill()
        process.wait(20)
    assert not launcher.is_acted_on(APP)


def test_two_that_act_at_a_time_do_not_wait_for_each_other(launcher):
    with launcher.acting(APP):
        with launcher.acting(APP):
            assert launcher.is_acted_on(APP)
        assert launcher.is_acted_on(APP)
    assert not launcher.is_acted_on(APP)


def test_when_a_process_has_acted_is_seen_unless_it_was_killed(launcher):
    assert launcher.acted_at(APP) == 0
    with launcher.acting(APP):
        lock = launcher.state_directory.app(APP.name) / "acting.lock"
        os.utime(lock, (7, 7))
    assert launcher.acted_at(APP) > 7
    os.utime(lock, (7, 7))
    with contextlib.suppress(KeyError), launcher.acting(APP):
        assert launcher.acted_at(APP) == 7  # as it stays if nothing but a kill ends it
        raise KeyError
    assert launcher.acted_at(APP) > 7


HOLDS = """
import sys, time
from pathlib import Path
from spark_jobs.process.appdir import AppDir
with AppDir.of(Path(sys.argv[1]), "B").locked():
    print("holds", flush=True)
    sys.stdin.read()
"""


def test_the_driver_is_the_process_that_holds_the_lock(launcher, tmp_path):
    assert launcher.driver(APP) is None
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"holds\n"
        assert launcher.driver(APP).pid == process.pid
        lock = launcher.state_directory.app(APP.name) / "driver.lock"
        # A driver that has just taken the lock finds what the one before wrote: a pid that by now
        # may be another process's.
        lock.write_text(json.dumps({"pid": os.getpid(), "began": "1"}))
        assert launcher.driver(APP) is None
        process.kill()
        process.wait(20)
    assert launcher.driver(APP) is None


def test_a_stop_is_remembered_until_the_next_start(launcher, monkeypatch):
    assert launcher.stopped_ms(APP) == 0
    launcher.stop(APP, 0.1)
    assert launcher.stopped_ms(APP) == 0  # it was never started here
    monkeypatch.setattr(Launcher, "command", lambda *_: [sys.executable, "-c", "input()"])
    launcher.start(APP)
    assert launcher.stopped_ms(APP) == 0
    since_ms = int(time.time() * 1000)
    launcher.stop(APP, 5)
    assert since_ms - 20 <= launcher.stopped_ms(APP)  # a file's time is coarser
    launcher.start(APP)
    assert launcher.stopped_ms(APP) == 0
    launcher.stop(APP, 5)
