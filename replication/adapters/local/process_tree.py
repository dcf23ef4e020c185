"""The child processes of a process."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """A live process."""

    pid: int
    parent: int
    command: str  # arguments joined by blanks
    cpu_s: float  # used so far, without children


def below(pid: int) -> list[ProcessEntry]:
    """Return all live descendants of ``pid``, in no particular order; none if it has ended."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                found.append(_entry(child))
    return found


def kill(pid: int) -> None:
    """SIGKILL, as a machine that runs out of memory would; nothing happens if it has ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _entry(process: psutil.Process) -> ProcessEntry:
    """Raises psutil.NoSuchProcess."""
    with process.oneshot():
        used = process.cpu_times()
        command = " ".join(process.cmdline())
        return ProcessEntry(process.pid, process.ppid(), command, used.user + used.system)
