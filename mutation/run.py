"""Runs mutmut in the folder ``mutants``, as ``[tool.mutmut]`` in pyproject.toml says."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mutation.mutants import MutatedFunction, changed_line, statuses

if TYPE_CHECKING:
    from collections.abc import Sequence

_FOLDER = Path("mutants")  # mutmut's; it has no setting for it
# mutmut has no command that only makes the mutants and times the tests: the mutants of a function
# that a few quick tests cover are run with it.
_SMALL = "replication.records.batch.x_next_sequence*"
_STOP_S = 20.0  # for the tests that run


class MutmutFailed(Exception):
    """mutmut ended with an error; the message holds the end of its output."""


def make(processes: int) -> list[str]:
    """Make all mutants anew and time the tests; return the names. Raises MutmutFailed."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _mutmut("run", "--max-children", str(processes), _SMALL)
    return list(results())


def run(names: Sequence[str], processes: int, limit_s: float) -> None:
    """Run the tests of mutants, the quickest first, for ``limit_s`` at most."""
    command = [*_COMMAND, "run", "--max-children", str(processes), *names]
    with (_FOLDER / "run.log").open("wb") as log:
        running = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            running.wait(limit_s)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGINT)
            try:
                running.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def results() -> dict[str, str]:
    """Return the status of every mutant."""
    return statuses(_mutmut("results", "--all", "true"))


def shown(name: str) -> str:
    """Return where a mutant changes the code, and the change as a diff."""
    diff = _mutmut("show", name).splitlines()
    place = MutatedFunction.of(name)
    line = changed_line(diff, place.first_line(Path(place.path).read_text()))
    changes = [each for each in diff if each.startswith(("-", "+")) and each[:3] not in _HEADS]
    return "\n".join([f"{place.path}:{line}  ({name})", *(f"    {each}" for each in changes)])


_COMMAND = [sys.executable, "-m", "mutmut"]
_HEADS = ("---", "+++")


def _mutmut(*arguments: str) -> str:
    ran = subprocess.run([*_COMMAND, *arguments], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise MutmutFailed(f"mutmut {arguments[0]}: " + (ran.stdout + ran.stderr)[-2000:])
    return ran.stdout
