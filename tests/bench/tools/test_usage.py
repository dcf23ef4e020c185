"""What counts as a tool's CPU time."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from bench.tools.usage import Usage, end, usage

BURN = "import time\nwhile time.process_time() < 0.2: pass"


@pytest.fixture
def session():
    """Start a script in a session of its own; returns its pid once it has said so."""
    started = []

    def start(script: str) -> int:
        command = [sys.executable, "-c", script]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    yield start
    for process in started:
        end(process.pid, grace_s=0)
        process.communicate()


def test_the_cpu_time_of_a_child_that_has_ended_counts(session):
    script = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])\n"
    pid = session(script + "print('ready', flush=True)\nsys.stdin.read()")
    assert usage(pid).cpu_s >= 0.15


def test_a_process_that_lost_its_parent_counts(session):
    orphan = f"{BURN}\nprint('ready', flush=True)\ntime.sleep(60)"
    script = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {orphan!r}])\n"
    assert usage(session(script)).cpu_s >= 0.15


@pytest.mark.parametrize(
    ("before", "after", "spent"),
    [
        pytest.param(Usage(5, 0, {1: 5}), Usage(7, 0, {1: 7}), 2, id="one process"),
        pytest.param(
            Usage(5, 0, {1: 2, 2: 3}), Usage(6, 0, {1: 2}), 1, id="a child was waited for"
        ),
        pytest.param(Usage(5, 0, {1: 2, 2: 3}), Usage(4, 0, {1: 4}), 2, id="a child was not"),
        pytest.param(Usage(5, 0, {1: 5}), Usage(8, 0, {1: 5, 2: 3}), 3, id="a new process"),
    ],
)
def test_a_child_that_ends_takes_no_time_back(before, after, spent):
    assert after.since(before) == spent


def test_ending_a_tool_ends_children_that_ignore_being_asked(session):
    stubborn = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    stubborn += "print('ready', flush=True)\ntime.sleep(60)"
    pid = session(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {stubborn!r}])")
    children = psutil.Process(pid).children()
    end(pid, grace_s=0.3)
    assert children
    assert not any(child.is_running() for child in children)
