"""A command whose reader leaves, as in ``isthmus check FILE | head -1``, ends quietly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration.cli.screen.pipes import PIPE_CLOSED

FILE = Path(__file__).parents[3] / "inputs" / "merge-full.properties"
ISTHMUS = [sys.executable, "-m", "orchestration.cli.main"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["check", str(FILE)], id="a table"),
        pytest.param(["check", str(FILE), "-o", "json"], id="one text, larger than the buffer"),
        pytest.param(["topology", str(FILE), "-o", "mermaid"], id="echoed"),
        pytest.param(["--help"], id="help"),
    ],
)
def test_a_reader_that_has_left_ends_the_command_without_a_word(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        done = subprocess.run(
            [*ISTHMUS, *arguments],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (PIPE_CLOSED, "")


@pytest.fixture(scope="module")
def checked() -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ISTHMUS, "check", str(FILE)], capture_output=True, text=True, check=False, timeout=60
    )


def test_a_reader_that_takes_all_gets_all(checked):
    assert checked.returncode == 0
    assert checked.stdout.splitlines()[-1] == f"{FILE} is valid: 3 flows, 22 warnings"


def test_without_a_terminal_no_line_is_wrapped(checked):
    lines = checked.stdout.splitlines()
    assert max(map(len, lines)) > 200
    assert sum(str(FILE) in line for line in lines[:-1]) == sum(
        line.startswith(("warning ", "info ")) for line in lines
    )


def test_a_clean_up_is_done_also_when_nobody_reads_about_it(tmp_path):
    code = f"""
from pathlib import Path
from orchestration.cli.screen.console import console
from orchestration.cli.local.live import Show
from orchestration.cli.screen.pipes import guard_pipes
from orchestration.services.local_session import Ending
guard_pipes()
Show(console(), Ending()).while_stopping("stopping", Path({str(tmp_path / "done")!r}).touch)
"""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        done = subprocess.run([sys.executable, "-c", code], stdout=output, check=False, timeout=60)
    assert (done.returncode, (tmp_path / "done").exists()) == (0, True)
