"""Processes that outlive the command that started them, found again by a pid file.

A pid alone may by now belong to a stranger, so the file also holds when the process began.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from replication.adapters.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_POLL_S = 0.05
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Process:
    """A process that we started, by its pid and its start time."""

    pid: int
    began: str  # as the system reports it; only ever compared for equality

    def alive(self) -> bool:
        """Say whether it still runs; a child that has exited is reaped on the way."""
        with contextlib.suppress(ChildProcessError):  # not our child: started by another command
            os.waitpid(self.pid, os.WNOHANG)
        return began(self.pid) == self.began

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its whole process group; nothing happens if it has ended."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def wait(self, limit_s: float) -> bool:
        """Wait until it has ended. False: it still runs after ``limit_s``."""
        deadline = time.monotonic() + limit_s
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def stop(self, grace_s: float) -> None:
        """Ask it to end, and kill it if it has not done so after ``grace_s``."""
        self.signal(signal.SIGTERM)
        if not self.wait(grace_s):
            self.signal(signal.SIGKILL)
            self.wait(grace_s)


def spawn(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Process:
    """Start ``command`` in a session of its own; both its outputs are appended to ``log``."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=None if environment is None else {**os.environ, **environment},
        )
    child.returncode = 0  # we reap it ourselves: without this, Popen warns when it is collected
    return Process(child.pid, began(child.pid) or "")


def remember(process: Process, file: Path) -> None:
    """Write the pid file, whole or not at all."""
    write_whole(file, json.dumps(asdict(process)))


def recall(file: Path) -> Process | None:
    """Return the live process that the pid file speaks of, or None."""
    try:
        process = Process(**json.loads(file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return process if process.alive() else None


def began(pid: int) -> str | None:
    """Return when process ``pid`` began, or None if it has ended, also if nobody reaped it yet."""
    if Path("/proc/self/stat").exists():
        return _began_linux(pid)
    done = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, start = done.stdout.strip().partition(" ")
    return start.strip() or None if not state.startswith("Z") else None


def _began_linux(pid: int) -> str | None:
    place = Path("/proc", str(pid))
    try:
        text = (place / "stat").read_text()
        threads = len(list((place / "task").iterdir()))
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces
    # The first thread may be a zombie while others still hold the process's ports.
    return None if fields[0] in "ZX" and threads <= 1 else fields[19]


def interrupt_once() -> None:
    """Let the first Ctrl-C or SIGTERM raise KeyboardInterrupt, and no later one do anything.

    While what was started is cleaned up, further signals would only leave processes behind.
    """
    for number in _INTERRUPTS:
        signal.signal(number, _interrupted)


def _interrupted(_signal: int, _frame: object) -> NoReturn:
    for number in _INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
