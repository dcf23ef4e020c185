"""When Dagster's code server is to start again."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from support.settings.config_files import TWO

from orchestration.services.edited_definitions import EditedDefinitions
from replication.adapters.local.processes import spawn

SLEEPS = "import time; time.sleep(60)"
STARTS_A_RUN = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPS!r}])"


@pytest.fixture
def edited(tmp_path):
    """A file, a function that edits it, and a look that does not wait for its turn."""
    file = tmp_path / "f.properties"
    watched = EditedDefinitions(file, tmp_path)

    def edit(text: str) -> None:
        file.write_text(text)
        os.utime(file, (1, time.time() - 5))

    def look(code) -> bool:
        watched._look_at = 0.0
        return watched.are_old(code)

    edit(TWO)
    return edit, look


@pytest.fixture
def code(tmp_path, request):
    process = spawn([sys.executable, "-c", request.param], tmp_path / "log")
    yield process
    process.stop(5)


@pytest.mark.parametrize("code", [SLEEPS], indirect=True)
def test_an_edit_makes_definitions_old_once_and_a_broken_one_does_not(edited, code):
    edit, look = edited
    assert not look(None)
    assert not look(code)
    edit(f"{TWO}lag.sla.secnds = 5\n")
    assert not look(code)
    edit(f"{TWO}lag.sla.seconds = 5\n")
    assert look(code)
    assert not look(code)


@pytest.mark.parametrize("code", [STARTS_A_RUN], indirect=True)
def test_no_run_is_ended_by_it(edited, code):
    edit, look = edited
    deadline = time.monotonic() + 20
    while subprocess.run(
        ["pgrep", "-P", str(code.pid)], capture_output=True, check=False
    ).returncode:
        assert time.monotonic() < deadline
    look(code)
    edit(f"{TWO}lag.sla.seconds = 5\n")
    assert not look(code)
    assert not look(code)
