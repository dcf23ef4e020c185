"""The processes below another one, as Linux reports them: to find who does the work."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """A live process."""

    pid: int
    parent: int
    command: str  # arguments joined by blanks
    cpu_ticks: int  # used so far


def below(pid: int) -> list[Entry]:
    """Return all descendants of ``pid``, in no particular order."""
    everyone = [entry for entry in map(_entry, _pids()) if entry is not None]
    found, parents = [], {pid}
    while new := [each for each in everyone if each.parent in parents and each not in found]:
        found += new
        parents = {each.pid for each in new}
    return found


def kill(pid: int) -> None:
    """SIGKILL, as a machine that runs out of memory would; nothing happens if it has ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _entry(pid: int) -> Entry | None:
    place = Path("/proc", str(pid))
    try:
        fields = (place / "stat").read_text().rpartition(")")[2].split()
        command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Entry(pid, int(fields[1]), command, int(fields[11]) + int(fields[12]))
