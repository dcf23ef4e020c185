"""An operator's command, or its run in Dagster, that is killed in the middle of a step.

It is killed when it has said that it begins the step, and does not note the step as done before.
The process of each is forked from one that has imported what they need: a third of a command's time
is spent on imports.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from support.flows.spark_driver import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

_ENDED = "-- ended"
_FORKS = """
import json, os, sys, threading
{imports}
from orchestration.recovery import flow_operation, operator
sys.stdout.reconfigure(line_buffering=True)
noted = operator.ended
def ended(operation, step, *more):
    if step == given["step"]:
        threading.Event().wait()
    return noted(operation, step, *more)
operator.ended = ended
for line in sys.stdin:
    given = json.loads(line)
    if (child := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        print("--", os.getpid())
        os.environ.clear()
        os.environ.update(given["environment"])
        operator.WATCH_S = given["watch_s"]
        sys.argv = ["isthmus", *given["words"]]
        {call}
        os._exit(0)
    os.waitpid(child, 0)
    print("{ended}", flush=True)
"""
_COMMAND = (
    """
import orchestration.cli.recovery.drill, orchestration.cli.recovery.failback
import orchestration.cli.recovery.failover, orchestration.cli.recovery.switchover
import replication.adapters.group_syncs
from orchestration.cli.main import main
""",
    "main()",
)
# The process that executes a run of a job, which waits less long for drivers that are gone.
_RUN = (
    """
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.resources import Isthmus
def run(job, op, flow, file, home, config):
    flow_operation._SILENT_S = 2.0
    flow_jobs([flow])[job].execute_in_process(
        run_config={"ops": {op: {"config": json.loads(config)}}},
        partition_key=flow,
        resources={"isthmus": Isthmus(config_path=file, home_path=home)},
    )
""",
    "run(*sys.argv[1:])",
)
_IMPATIENT_S, _PATIENT_S = 1.5, 5.0  # how long is watched whether a killed operator still works


@dataclass
class _Forks:
    """A process that forks one for each request; started with the first."""

    imports: str
    call: str
    _process: subprocess.Popen[str] | None = field(default=None)

    def lines(self, words: Iterable[str], watch_s: float, step: str) -> Iterator[str]:
        """Yield the process id of a new fork, which does not end ``step``, and then its output."""
        if self._process is None:
            self._process = self._started()
        request, answers = self._process.stdin, self._process.stdout
        assert request is not None
        assert answers is not None
        asked = {"words": [*words], "watch_s": watch_s, "step": step, "environment": _kept()}
        print(json.dumps(asked), file=request, flush=True)
        yield from _until_ended(answers)

    def _started(self) -> subprocess.Popen[str]:
        text = _FORKS.format(imports=self.imports, call=self.call, ended=_ENDED)
        process = subprocess.Popen(
            [sys.executable, "-c", text],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=_kept(),
        )
        atexit.register(_end, process)
        return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _until_ended(answers: IO[str]) -> Iterator[str]:
    for line in answers:
        if line.startswith(_ENDED):
            return
        yield line


_COMMANDS, _RUNS = _Forks(*_COMMAND), _Forks(*_RUN)


def killed_at(step: str, words: Iterable[object], *, is_patient: bool = False) -> None:
    """Run ``isthmus`` with these words, and kill its process when it begins ``step``."""
    watch_s = _PATIENT_S if is_patient else _IMPATIENT_S
    _killed_at(step, _COMMANDS.lines(map(str, words), watch_s, step), {})


def killed_run(
    step: str,
    words: tuple[str, str, str],
    file: Path,
    config: Mapping[str, object],
    **also: Callable[[], object],
) -> None:
    """Run a job, its op, for a flow: ``words``; and kill its process when it begins ``step``.

    ``also``: what is done when another step begins, by its name.
    """
    given = (*words, str(file), str(file.parent / "state"), json.dumps(config))
    _killed_at(step, _RUNS.lines(given, _IMPATIENT_S, step), also)


def _killed_at(step: str, lines: Iterator[str], also: Mapping[str, Callable[[], object]]) -> None:
    process = int(next(each for each in lines if each.startswith("-- ")).split()[1])
    reported, is_killed = [], False
    for line in lines:
        reported.append(line)
        for name, act in also.items():
            if "step " in line and f", {name}:" in line:
                act()
        if "step " in line and f", {step}:" in line and not is_killed:
            os.kill(process, signal.SIGKILL)
            is_killed = True
    assert is_killed, f"step {step} never began: {''.join(reported)}"


def _kept() -> dict[str, str]:
    """Return the environment that a command needs: where Java, our state and our files are."""
    names = ("PATH", "JAVA_HOME", "HOME", "ISTHMUS_HOME")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "PYTHONUNBUFFERED": "1"}
