"""Exit codes and messages of a driver that cannot start."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from support.settings.configs import a_config

from replication.errors import ClusterRejected, ConfigError, FlowTaken
from spark_jobs import replicate
from spark_jobs.driver import driver_loop
from spark_jobs.process.appdir import AppDir
from spark_jobs.process.jvm import DIED

FILE = """
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
A->B.enabled = true
"""


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        pytest.param(ClusterRejected("B: authentication failed"), DIED, id="expired password"),
        pytest.param(FlowTaken("A->B: taken"), 75, id="another driver"),
        pytest.param(ConfigError("B: no such file"), 78, id="configuration"),
    ],
)
def test_bl_138_what_keeps_a_driver_from_copying_is_one_line_and_says_whether_to_try_again(
    tmp_path, monkeypatch, capsys, problem, code
):
    (tmp_path / "f.properties").write_text(FILE)

    def fails(*_: object) -> int:
        raise problem

    monkeypatch.setattr(replicate, "_drive", fails)
    monkeypatch.setattr(replicate, "configure_logs", lambda: None)
    given = ["--config", str(tmp_path / "f.properties"), "--target", "B"]
    assert replicate.main([*given, "--state-dir", str(tmp_path)]) == code
    output = "".join(capsys.readouterr())
    assert str(problem) in output
    assert "Traceback" not in output


def test_a_jvm_that_does_not_answer_is_tried_again_and_blames_no_file(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "f.properties").write_text(FILE)

    def fails(*_: object) -> int:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(replicate, "_run", fails)
    monkeypatch.setattr(replicate, "configure_logs", lambda: None)
    given = ["--config", str(tmp_path / "f.properties"), "--target", "B"]
    assert replicate.main([*given, "--state-dir", str(tmp_path / "state")]) == DIED
    assert "Spark's JVM does not answer: Connection refused" in "".join(capsys.readouterr())


class Jvm:
    """A JVM that runs, or that a signal ended."""

    def __init__(self, *, killed: bool) -> None:
        self.killed, self.ends = killed, []

    def was_killed(self) -> bool:
        return self.killed

    def stop(self) -> None:
        self.ends.append("stop")

    def kill(self) -> None:
        self.ends.append("kill")


def run(monkeypatch, tmp_path, jvm: Jvm, error: Exception | None = None, restart: str = "") -> int:
    class FlowsDriver:
        def __init__(self, *_: object) -> None:
            self.restart = restart

        def run(self, *_: object) -> None:
            if error is not None:
                raise error

    config = a_config()
    monkeypatch.setattr(replicate, "launch", lambda *_: jvm)
    monkeypatch.setattr(replicate, "announce", lambda *_: None)
    monkeypatch.setattr(driver_loop, "Driver", FlowsDriver)
    reading, directory = SimpleNamespace(config=config), AppDir.of(tmp_path, "B")
    return replicate._drive(None, reading, config.flows, directory)


@pytest.mark.parametrize(("restart", "code"), [("", 0), ("copy.units was edited", 76)])
def test_a_driver_that_has_ended_says_whether_it_is_to_start_again(
    tmp_path, monkeypatch, restart, code
):
    jvm = Jvm(killed=False)
    assert (run(monkeypatch, tmp_path, jvm, restart=restart), jvm.ends) == (code, ["stop"])


def test_what_follows_from_a_jvm_that_was_killed_is_no_error_of_its_own(tmp_path, monkeypatch):
    jvm = Jvm(killed=True)
    assert run(monkeypatch, tmp_path, jvm, ConnectionError("refused")) == DIED
    assert jvm.ends == ["kill"]


@pytest.mark.parametrize(
    ("error", "killed"),
    [(ClusterRejected("B: authentication failed"), True), (RuntimeError("a fault"), False)],
    ids=["of a cluster", "of a JVM that lives"],
)
def test_any_other_error_ends_the_jvm_too_and_is_raised(tmp_path, monkeypatch, error, killed):
    jvm = Jvm(killed=killed)
    with pytest.raises(type(error)):
        run(monkeypatch, tmp_path, jvm, error)
    assert jvm.ends == ["kill"]


def test_a_logged_exception_shows_where_it_was_raised_and_no_local_value():
    code = (
        "import structlog; from spark_jobs.process import logs; logs.configure_logs()\n"
        "def connect(password):\n"
        "    raise ValueError('cannot connect')\n"
        "try: connect('hunter' + str(2))\n"
        "except ValueError: structlog.get_logger().exception('unit failed')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "in connect" in ran.stderr
    assert ran.stderr.strip().endswith("ValueError: cannot connect")
    assert "hunter2" not in ran.stderr


def test_what_libraries_log_is_a_line_without_a_stack_trace():
    code = (
        "import logging; from spark_jobs.process import logs; logs.configure_logs()\n"
        "try: 1 / 0\n"
        "except ZeroDivisionError: logging.exception('Exception while sending command.')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.strip().endswith("[ERROR] root: Exception while sending command.")
    assert ran.stderr.count("\n") == 1
