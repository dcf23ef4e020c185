"""The start of a session: it waits for the UI."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from orchestration.services import local_session as module
from orchestration.services.launcher import Launcher
from orchestration.services.local_session import Ending, LocalSession
from orchestration.services.state_directory import StateDirectory
from replication.adapters.local.processes import Process
from replication.errors import EnvironmentProblem


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Start a session whose keeper has ended at once."""

    def start(*, ui: bool, host: str = "127.0.0.1") -> LocalSession:
        monkeypatch.setattr(module, "start_keeper", lambda *_: Process(-1, "never"))
        launcher = Launcher(StateDirectory(tmp_path), Path("flows.properties"))
        session = LocalSession(launcher, (), ui=ui, host=host)
        session.start()
        return session

    return start


def test_without_its_ui_nobody_waits_for_dagsters_ui(started):
    started(ui=False).wait_for_ui(Ending())


def test_a_ui_that_does_not_come_up_is_reported(started):
    with pytest.raises(EnvironmentProblem, match="Dagster exited while it started"):
        started(ui=True).wait_for_ui(Ending())


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.2", "127.0.0.2")],  # noqa: S104 - as asked
)
def test_the_address_of_the_ui_is_one_that_answers_here(started, host, address):
    session = started(ui=True, host=host)
    assert session.address == f"http://{address}:{session.port}"
    with socket.create_server((host, session.port)):
        session.wait_for_ui(Ending())


def test_a_host_that_is_no_address_of_this_machine_is_refused_before_anything_starts(started):
    with pytest.raises(EnvironmentProblem, match=r"192\.0\.2\.7 is not an address of this machine"):
        started(ui=True, host="192.0.2.7")


@pytest.mark.parametrize("ignored", [True, False])
def test_a_closed_terminal_ends_a_session_unless_nohup_started_it(ignored):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    ends = [(each, signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGTERM)]
    try:
        with Ending() as ending:
            signal.raise_signal(signal.SIGHUP)
            assert bool(ending) is not ignored
    finally:
        for number, handler in [*ends, (signal.SIGHUP, before)]:
            signal.signal(number, handler)
