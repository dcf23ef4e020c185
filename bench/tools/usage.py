"""CPU time and memory of a tool: all of its processes, also those that ended.

A tool runs in a session of its own, which its processes cannot leave by losing their parent.
Its CPU time is that of the living ones plus that of children which they have waited for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds since the tool began, in all and of each living process; resident bytes now."""

    cpu_s: float
    rss: int
    own_s: Mapping[int, float]  # by pid, without children

    def since(self, before: Usage) -> float:
        """Return the CPU seconds spent since ``before``.

        A child whose parent does not wait for it takes its time with it when it ends, and the
        sum falls; then what the living ones have spent is the better lower bound.
        """
        living = sum(spent - before.own_s.get(pid, 0.0) for pid, spent in self.own_s.items())
        return max(self.cpu_s - before.cpu_s, living)


def usage(session: int) -> Usage:
    """Return what the processes of a session have used."""
    cpu, rss, own = 0.0, 0, {}
    for process in members(session):
        with contextlib.suppress(psutil.NoSuchProcess), process.oneshot():
            times = process.cpu_times()
            own[process.pid] = times.user + times.system
            cpu += own[process.pid] + times.children_user + times.children_system
            rss += process.memory_info().rss
    return Usage(cpu, rss, own)


def end(session: int, grace_s: float = 20.0) -> None:
    """Ask a session's first process to end; after ``grace_s`` kill whatever is left of it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(session, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while (left := _alive(session)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def _alive(session: int) -> list[psutil.Process]:
    found = []
    for process in members(session):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def members(session: int) -> Iterator[psutil.Process]:
    """Yield the processes of a session that are there now."""
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(pid) == session:
                yield psutil.Process(pid)
