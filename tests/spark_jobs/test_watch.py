"""The watcher with real processes in the driver's place."""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from spark_jobs.process.appdir import AppDir, Locked
from spark_jobs.watch import Watcher, kill_session, next_pause

REPOSITORY = Path(__file__).parents[2]


def wait_for(found, limit_s=20):
    deadline = time.monotonic() + limit_s
    while not (answer := found()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return answer


def watched(tmp_path, driver):
    """Start a watcher in a process of its own; its driver is a line of Python."""
    code = (
        "import sys; from pathlib import Path; from spark_jobs.process.appdir import AppDir; "
        "from spark_jobs.watch import Watcher; "
        f"d = AppDir.of(Path({str(tmp_path)!r}), 'B'); d.root.mkdir(parents=True); "
        f"sys.exit(Watcher(d, [sys.executable, '-c', {driver!r}]).run())"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY)


def record(tmp_path):
    file = tmp_path / "apps" / "B" / "watch.json"
    return json.loads(file.read_text()) if file.exists() else {}


@pytest.mark.parametrize(
    ("before_s", "lived_s", "pause_s"),
    [
        pytest.param(0.0, 1.0, 0.2, id="first crash"),
        pytest.param(0.2, 1.0, 0.4, id="again soon"),
        pytest.param(25.6, 1.0, 30.0, id="no longer than 30 s"),
        pytest.param(30.0, 61.0, 0.2, id="after a good minute"),
    ],
)
def test_a_driver_that_cannot_live_is_started_less_and_less_often(before_s, lived_s, pause_s):
    assert next_pause(before_s, lived_s) == pause_s


@pytest.mark.parametrize("code", [0, 75, 78])
def test_a_driver_that_ended_for_good_is_not_started_again(tmp_path, code):
    directory = AppDir.of(tmp_path, "B")
    directory.root.mkdir(parents=True)
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        watcher = Watcher(directory, [sys.executable, "-c", f"raise SystemExit({code})"])
        assert watcher.run() == code
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
    assert record(tmp_path)["restarts"] == 0


def test_a_killed_driver_is_started_again_and_its_children_are_killed_first(tmp_path):
    """BL-125 and BL-133."""
    # The child leaves the driver's process group, as Spark's Python workers do.
    child = "import os, time; os.setpgid(0, 0); time.sleep(600)"
    driver = (
        "import pathlib, subprocess, sys, time; "
        f"c = subprocess.Popen([sys.executable, '-c', {child!r}]); "
        f"open({str(tmp_path / 'children')!r}, 'a').write(f'{{c.pid}}\\n'); time.sleep(600)"
    )
    watcher = watched(tmp_path, driver)
    children = tmp_path / "children"
    try:
        wait_for(children.exists)
        first = record(tmp_path)["driver"]
        orphan = int(wait_for(children.read_text).split()[0])
        shutil.rmtree(tmp_path / "apps")  # somebody cleans up
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: record(tmp_path).get("driver") not in (first, 0, None))
        assert record(tmp_path)["restarts"] == 1
        assert record(tmp_path)["last_exit"] == -signal.SIGKILL
        wait_for(lambda: not psutil.pid_exists(orphan))
    finally:
        watcher.send_signal(signal.SIGTERM)
        assert watcher.wait(20) == 0


def test_signals_are_handed_on_and_the_driver_may_end_cleanly(tmp_path):
    driver = (
        "import signal, sys, time; "
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); "
        f"open({str(tmp_path / 'ready')!r}, 'w'); time.sleep(600)"
    )
    watcher = watched(tmp_path, driver)
    wait_for((tmp_path / "ready").exists)
    watcher.send_signal(signal.SIGTERM)
    assert watcher.wait(20) == 0


def test_the_driver_outlives_its_watcher(tmp_path):
    """BL-130."""
    answers_every_request = (
        "import pathlib, time\n"
        f"here, number = pathlib.Path({str(tmp_path)!r}), 0\n"
        "while True:\n"
        "    if (here / f'request-{number}').exists():\n"
        "        print('as a driver logs', flush=True)\n"
        "        (here / f'answer-{number}').touch()\n"
        "        number += 1\n"
        "    time.sleep(0.01)\n"
    )

    def answered(number):
        (tmp_path / f"request-{number}").touch()
        return wait_for((tmp_path / f"answer-{number}").exists)

    watcher = watched(tmp_path, answers_every_request)
    driver = wait_for(lambda: record(tmp_path).get("driver"))
    try:
        assert answered(0)
        watcher.kill()
        watcher.wait(20)
        assert answered(1)
        assert answered(2), "it goes on after it has written to its log"
    finally:
        kill_session(driver)


def test_only_one_driver_holds_the_lock_and_its_content_says_who(tmp_path):
    directory = AppDir.of(tmp_path, "B")
    holder = f'"pid": {os.getpid()}'
    with directory.locked(), pytest.raises(Locked, match=holder), directory.locked():
        pass
    with directory.locked():
        pass


def test_a_look_at_the_lock_does_not_keep_a_driver_from_taking_it(tmp_path):
    directory = AppDir.of(tmp_path, "B")
    with directory.locked():
        pass
    with (directory.root / "driver.lock").open("rb") as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        threading.Timer(0.3, lambda: fcntl.flock(look, fcntl.LOCK_UN)).start()
        with directory.locked():
            pass


def test_bl_236_a_watcher_without_space_for_its_log_tries_again(tmp_path, monkeypatch):
    directory = AppDir.of(tmp_path, "B")
    directory.root.mkdir(parents=True)
    full = [OSError(errno.ENOSPC, "No space left on device")] * 2
    real = Watcher._start

    def start(watcher):
        if full:
            raise full.pop()
        return real(watcher)

    monkeypatch.setattr(Watcher, "_start", start)
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        assert Watcher(directory, [sys.executable, "-c", ""]).run() == 0
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
    assert record(tmp_path)["restarts"] == 2
