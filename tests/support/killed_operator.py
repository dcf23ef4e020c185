"""An operator's command that is killed when it begins a step."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from support.spark_driver import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable

# The command, which does not watch so long whether a killed operator still works.
_IMPATIENT = """
from replication.recovery import procedure
procedure.WATCH_S = 1.5
from orchestration.cli.main import main
main()
"""


def killed_at(step: str, words: Iterable[object], *, is_patient: bool = False) -> None:
    """Run ``isthmus`` with these words, and kill its process when it begins ``step``."""
    start = ("-m", "orchestration.cli.main") if is_patient else ("-c", _IMPATIENT)
    with subprocess.Popen(
        [sys.executable, *start, *map(str, words)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PYTHONUNBUFFERED": "1", "PATH": os.environ["PATH"]},
    ) as operator:
        assert operator.stdout is not None
        told = []
        for line in operator.stdout:
            told.append(line)
            if line.startswith("step ") and f", {step}:" in line:
                operator.kill()
                return
    raise AssertionError(f"step {step} never began: {''.join(told)}")
