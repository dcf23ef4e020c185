"""The start of a session: it waits for the UI."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.services import local_session as module
from orchestration.services.home import Home
from orchestration.services.launcher import Launcher
from orchestration.services.local_session import Ending, Session
from replication.adapters.local.processes import Process
from replication.errors import EnvironmentProblem


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Start a session whose keeper has ended at once."""

    def start(*, ui: bool) -> Session:
        monkeypatch.setattr(module, "start_keeper", lambda *_: Process(-1, "never"))
        session = Session(Launcher(Home(tmp_path), Path("flows.properties")), (), ui=ui)
        session.start()
        return session

    return start


def test_without_its_ui_nobody_waits_for_dagsters_ui(started):
    started(ui=False).wait_for_ui(Ending())


def test_a_ui_that_does_not_come_up_is_reported(started):
    with pytest.raises(EnvironmentProblem, match="Dagster exited while it started"):
        started(ui=True).wait_for_ui(Ending())
