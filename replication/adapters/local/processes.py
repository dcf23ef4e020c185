"""Background processes that outlive the command that started them, found by a pid file.

A pid alone may by now belong to another process, so the file also holds the start time and the
command. The start time counts from the boot: after another boot it may be that of another process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NoReturn

import psutil

from replication.adapters.local.files import PRIVATE_UMASK, open_private, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

_POLL_S = 0.05
_EXEC_S = 0.5  # more than an exec needs; a process that has ended has no arguments
_TICKS = os.sysconf("SC_CLK_TCK")  # the unit of ``Process.began``, as Linux counts
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Process:
    """A process that we started, by its pid and its start time."""

    pid: int
    began: str  # in clock ticks; only ever compared for equality

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
    """Start ``command`` in a session of its own; both its outputs are appended to ``log``.

    The files that it creates are this user's alone.
    """
    with open_private(log, "ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=PRIVATE_UMASK,
            env=None if environment is None else {**os.environ, **environment},
        )
    child.returncode = 0  # we reap it ourselves: without this, Popen warns when it is collected
    return Process(child.pid, began(child.pid) or "")


def remember(process: Process, file: Path) -> None:
    """Write the pid file, whole or not at all."""
    write_whole(file, json.dumps(description(process)))


def recall(file: Path) -> Process | None:
    """Return the live process that the pid file speaks of, or None."""
    try:
        return described(json.loads(file.read_text()))
    except (FileNotFoundError, ValueError):
        return None


def this_process() -> Process:
    """Return the process that calls this."""
    return Process(os.getpid(), began(os.getpid()) or "")


def description(process: Process) -> dict[str, Any]:
    """Return what ``described`` tells a process by, for a JSON file."""
    deadline = time.monotonic() + _EXEC_S
    while not (command := _command(process.pid)) and time.monotonic() < deadline:
        time.sleep(_EXEC_S / 100)  # the kernel has not put its arguments in place yet
    return {**asdict(process), "command": command}


def described(content: object) -> Process | None:
    """Return the live process that a description tells of. None: it has ended, or tells of none.

    A description of an earlier version has no command; one of a process whose first thread has
    ended cannot be compared.
    """
    if not isinstance(content, dict):
        return None
    pid, since = content.get("pid"), content.get("began")
    if not isinstance(pid, int) or not isinstance(since, str):
        return None
    process = Process(pid, since)
    if not process.alive():
        return None
    written, found = content.get("command"), _command(pid)
    return process if not written or not found or written == found else None


def began(pid: int) -> str | None:
    """Return when process ``pid`` began, or None if it has ended, reaped or not."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            # The first thread may be a zombie while others still hold the process's ports.
            if process.status() in _ENDED and process.num_threads() <= 1:
                return None
    except (psutil.NoSuchProcess, ValueError):  # ValueError: no process has a pid below 0
        return None
    # Since the boot; ``create_time`` moves when the wall clock is corrected.
    _, since = process._ident  # type: ignore[attr-defined]  # it has no public name
    return str(round(since * _TICKS))


def _command(pid: int) -> list[str]:
    """Return the arguments of a process; none where they cannot be read."""
    try:
        return psutil.Process(pid).cmdline()
    except (psutil.Error, ValueError):
        return []


def interrupt_once() -> None:
    """Let the first Ctrl-C, SIGTERM or SIGHUP raise KeyboardInterrupt; no later one does anything.

    While what was started is cleaned up, further signals would only leave processes behind. A
    SIGHUP that is ignored already stays so: ``nohup``.
    """
    for number in _INTERRUPTS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupted)


def _interrupted(_signal: int, _frame: object) -> NoReturn:
    for number in _INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
