"""``isthmus restart``: what becomes of flows when it is cut off, or one of several fails."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.settings.config_files import TWO, written
from typer.testing import CliRunner

from orchestration.cli import main
from orchestration.cli.flows import restart
from orchestration.cli.screen.pipes import PIPE_CLOSED
from orchestration.flows.restart import NotAskedToRun
from replication.errors import ClusterRejected, EnvironmentProblem

TESTS = Path(__file__).parents[3]
# The command itself, over clusters in memory; at its end it writes what was asked of the flow.
COMMAND = """
import atexit, sys
from pathlib import Path
from support.fakes.fake_flows import World
from orchestration.cli import main
from orchestration.cli.flows import restart
from orchestration.flows.kafka_clients import read_config
from replication.state import Intent, status_topic

file, result = map(Path, sys.argv[1:3])
world = World(read_config(file))
world.copy(records=3, end=3)
written = []
write = world.target.write
def noted(topic, *records):
    written.extend(str(each.desired) for each in records if isinstance(each, Intent))
    result.write_text(" ".join(written))
    write(topic, *records)
world.target.write = noted
restart.KafkaClusters = lambda: world
restart.Launcher = lambda *_: world
restart.reachable_flows = lambda config, *_, **__: (config.flows, {})
sys.argv = ["isthmus", "restart", str(file)]
main.main()
"""


@pytest.fixture
def terminal():
    ours, theirs = pty.openpty()
    yield ours, theirs
    for each in (ours, theirs):
        try:
            os.close(each)
        except OSError:
            continue


def begun(tmp_path, output, **options) -> tuple[subprocess.Popen, Path]:
    """Start a restart of a flow that does not stop; return it once it has asked for the stop."""
    result = tmp_path / "asked"
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, written(tmp_path, TWO), result],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        **options,
        env={**os.environ, "PYTHONPATH": str(TESTS), "ISTHMUS_HOME": str(tmp_path / "home")},
    )
    for _ in range(600):
        if result.exists() and result.read_text():
            return child, result
        if child.poll() is not None:
            break
        signal.sigtimedwait((), 0.1)
    child.kill()
    pytest.fail("it did not ask for the stop")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_restart_that_a_signal_cuts_off_asks_the_flow_to_run(tmp_path, number):
    child, result = begun(tmp_path, subprocess.DEVNULL)
    child.send_signal(number)
    assert child.wait(30) == 130
    assert result.read_text() == "stop run"


def test_a_restart_whose_terminal_is_closed_asks_the_flow_to_run(tmp_path, terminal):
    ours, theirs = terminal
    child, result = begun(tmp_path, theirs)
    os.close(theirs)
    os.close(ours)
    for _ in range(2):  # the kernel's, and the shell's
        child.send_signal(signal.SIGHUP)
    # The second one may come when all is done, and Python has given its handlers up.
    assert child.wait(30) in {130, PIPE_CLOSED, -signal.SIGHUP}
    assert result.read_text() == "stop run"


def test_a_restart_whose_reader_leaves_asks_the_flow_to_run(tmp_path):
    reader, writer = os.pipe()
    child, result = begun(tmp_path, writer)
    os.close(writer)
    os.close(reader)
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 130
    assert result.read_text() == "stop run"


def test_nohup_is_obeyed(tmp_path):
    def nohup():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    child, result = begun(tmp_path, subprocess.DEVNULL, preexec_fn=nohup)
    child.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(1)
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 130
    assert result.read_text() == "stop run"


class Restarts:
    """What took the place of FlowRestart: it notes what is asked, and fails where a test says."""

    def __init__(self, **failures: Exception) -> None:
        self.failures, self.asked = failures, []

    def __call__(self, flow, *_) -> Restarts:
        one = Restarts(**self.failures)
        one.flow, one.asked = flow, self.asked
        return one

    def _do(self, step: str) -> None:
        name = f"{step}_{self.flow.target}"
        self.asked.append(name)
        if name in self.failures:
            raise self.failures[name]

    def refuse(self) -> None:
        self._do("refuse")

    def stop(self) -> None:
        self._do("stop")

    def start(self) -> None:
        self._do("start")

    def wait(self) -> None:
        self._do("wait")


FOUR = f"""{TWO}clusters = A, B, C, D
C.bootstrap.servers = c:9092
D.bootstrap.servers = d:9092
A->C.enabled = true
A->D.enabled = true
"""


def restarted(tmp_path, monkeypatch, left=None, **failures: Exception):
    """Restart A->B, A->C and A->D; return what was asked of them, and why the command failed."""
    found = Restarts(**failures)
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(restart, "FlowRestart", found)
    left = left or {}
    monkeypatch.setattr(
        restart,
        "reachable_flows",
        lambda config, *_, **__: (tuple(e for e in config.flows if e.name not in left), left),
    )
    file = written(tmp_path, FOUR)
    result = CliRunner().invoke(main.app, ["restart", str(file), "--all"])
    return found.asked, result.exit_code, str(result.exception)


def test_a_paused_flow_and_one_whose_cluster_is_silent_keep_no_other_from_its_restart(
    tmp_path, monkeypatch
):
    asked, code, why = restarted(
        tmp_path,
        monkeypatch,
        {"A->C": "cluster C does not answer: refused"},
        refuse_B=ClusterRejected("A->B is to pause since me@here said so"),
    )
    assert asked == ["refuse_B", "refuse_D", "stop_D", "start_D", "wait_D"]
    assert code == 1
    assert why.splitlines() == [
        "A->C: cluster C does not answer: refused",
        "  A->B is to pause since me@here said so",
    ]


def test_a_flow_that_does_not_stop_is_asked_to_run_and_the_others_are_restarted(
    tmp_path, monkeypatch
):
    late = EnvironmentProblem("A->B: after 120 s it does not stop")
    asked, _, why = restarted(tmp_path, monkeypatch, stop_B=late)
    assert asked[:3] == ["refuse_B", "stop_B", "start_B"]
    assert [each for each in asked if each.startswith("wait")] == ["wait_C", "wait_D"]
    assert why == str(late)


def test_where_a_flow_does_not_start_no_other_one_is_stopped(tmp_path, monkeypatch):
    dead = EnvironmentProblem("A->B: after 120 s it does not start")
    asked, _, why = restarted(tmp_path, monkeypatch, wait_B=dead)
    assert asked == ["refuse_B", "stop_B", "start_B", "wait_B"]
    assert why.splitlines() == [
        str(dead),
        "  A->C: not restarted, as A->B does not start",
        "  A->D: not restarted, as A->B does not start",
    ]


@pytest.mark.parametrize("stop", [None, KeyboardInterrupt(), EnvironmentProblem("too late")])
def test_where_a_flow_may_still_be_asked_to_stop_no_other_one_is_stopped(
    tmp_path, monkeypatch, stop
):
    silent = NotAskedToRun("A->B may still be asked to stop: B does not answer")
    failures = {"stop_B": stop, "start_B": silent} if stop else {"start_B": silent}
    asked, code, why = restarted(tmp_path, monkeypatch, **failures)
    assert asked == ["refuse_B", "stop_B", "start_B"]
    assert (code, why.splitlines()[0]) == (1, str(silent))
