"""Runs the command ``isthmus`` in this process: the output and exit code that a shell gets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from typer.testing import CliRunner

from orchestration.cli import main as module
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable


class Ended(NamedTuple):
    """How a command ended; ``lines``: stdout, then stderr."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return (self.out + self.err).splitlines()


def run_command(*words: object) -> Ended:
    """Run ``isthmus``, 200 columns wide, where no fixture is at hand."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(module.app, [str(each) for each in words])
    if isinstance(done.exception, ReplicationError):
        message = f"error: {done.exception}\n"
        return Ended(module.exit_code(done.exception), done.stdout, done.stderr + message)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)


def runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Return a function that runs ``isthmus`` with its arguments."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["isthmus", *map(str, arguments)])
        monkeypatch.setattr(module, "guard_pipes", lambda: None)  # it keeps pytest's own streams
        monkeypatch.setattr(module, "guard_signals", lambda: None)  # and its own end
        with pytest.raises(SystemExit) as ended:
            module.main()
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run
