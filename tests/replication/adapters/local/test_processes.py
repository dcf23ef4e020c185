"""Processes are identified by pid and start time, and found as children of others."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from support.security.attack_surface import open_to_others

from replication.adapters.local.process_tree import below, kill
from replication.adapters.local.processes import (
    Process,
    began,
    description,
    recall,
    remember,
    spawn,
)

SLEEP = "import time; time.sleep(600)"
FIRST_THREAD_ENDS = """\
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""
linux = pytest.mark.skipif(not psutil.LINUX, reason="reads /proc")


@contextmanager
def python(code):
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def wait_for(found):
    deadline = time.monotonic() + 20
    while not found():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_process_is_known_again_by_its_pid_and_when_it_began(tmp_path):
    file = tmp_path / "some.pid"
    with python(SLEEP) as child:
        process = Process(child.pid, began(child.pid))
        remember(process, file)
        assert recall(file) == process
        assert not Process(child.pid, "1").alive()
        remember(Process(child.pid, "1"), file)
        assert recall(file) is None
    assert began(child.pid) is None


def test_a_process_that_has_the_same_pid_and_start_but_another_command_is_another_one(tmp_path):
    file = tmp_path / "some.pid"
    with python(SLEEP) as child:
        process = Process(child.pid, began(child.pid))
        remember(process, file)
        written = json.loads(file.read_text())
        assert written["command"] == [sys.executable, "-c", SLEEP]
        file.write_text(json.dumps({**written, "command": ["/usr/sbin/sshd"]}))
        assert recall(file) is None
        del written["command"]  # as an earlier version wrote it
        file.write_text(json.dumps(written))
        assert recall(file) == process


@pytest.mark.parametrize(
    "content",
    ["", "null", "[]", "17", "{}", '{"pid": 1}', '{"pid": "1", "began": "1"}',
     '{"pid": true, "began": 3}', '{"pid": -1, "began": "1"}', '{"pid": 0, "began": "1"}'],
)  # fmt: skip
def test_what_tells_of_no_process_is_none(tmp_path, content):
    (tmp_path / "some.pid").write_text(content)
    assert recall(tmp_path / "some.pid") is None


def test_output_and_files_of_what_is_started_are_this_users_alone(tmp_path):
    umask = os.umask(0)
    try:
        log, made = tmp_path / "its.log", tmp_path / "made"
        code = f"open({str(made)!r}, 'w').close(); print('done')"
        assert spawn([sys.executable, "-c", code], log).wait(20)
    finally:
        os.umask(umask)
    assert log.read_text() == "done\n"
    assert open_to_others(log) == []
    assert open_to_others(made) == []


@linux
def test_when_a_process_began_is_counted_from_the_boot():
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert began(os.getpid()) == fields[19]


def test_a_process_that_nobody_reaped_has_ended():
    with python(SLEEP) as child:
        child.send_signal(signal.SIGKILL)
        wait_for(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
        assert began(child.pid) is None
        assert child.pid not in {each.pid for each in below(os.getpid())}


@linux
def test_a_process_whose_first_thread_alone_has_ended_still_runs():
    with python(FIRST_THREAD_ENDS) as child:
        child.stdout.readline()
        wait_for(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
        assert began(child.pid) is not None


def test_children_of_children_are_found_with_their_parents_and_commands():
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEP!r}])"
    with python(inner) as child:
        wait_for(lambda: len(below(child.pid)) == 1 and SLEEP in below(child.pid)[0].command)
        found = {each.pid: each for each in below(os.getpid())}
        (grandchild,) = below(child.pid)
        assert found[child.pid].parent == os.getpid()
        assert found[grandchild.pid].parent == child.pid
        kill(grandchild.pid)
        child.wait(20)
    assert below(child.pid) == []
    kill(grandchild.pid)


def test_a_process_whose_exec_is_not_over_is_described_when_it_is(monkeypatch):
    asked, real = [], psutil.Process.cmdline
    monkeypatch.setattr(
        psutil.Process, "cmdline", lambda each: real(each) if asked.append(1) or asked[5:] else []
    )
    with python(SLEEP) as child:
        found = description(Process(child.pid, began(child.pid)))
    assert found["command"] == [sys.executable, "-c", SLEEP]
