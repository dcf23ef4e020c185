"""Runs the command ``isthmus`` in this process: the output and exit code that a shell gets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from orchestration.cli import main as module

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


def runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Return a function that runs ``isthmus`` with its arguments."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["isthmus", *map(str, arguments)])
        monkeypatch.setattr(module, "guard_pipes", lambda: None)  # it keeps pytest's own streams
        with pytest.raises(SystemExit) as ended:
            module.main()
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run
