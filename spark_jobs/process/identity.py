"""Identifies this driver process, and tells whether another on this machine is gone."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path
from zlib import crc32

import psutil

from replication.state import FlowStatus
from replication.supervision.driver_lease import Holder

_CLOCK_STEP_MS = 10_000  # the boot time is computed from a clock that gets corrected


def new_status(flow: str) -> FlowStatus:
    """Return the first status of this process; ``started_ms`` is when the process began."""
    began = process_began_ms(os.getpid())
    return FlowStatus(
        flow=flow,
        instance=f"{uuid.uuid4().hex[:12]}.{machine()}",
        host=socket.gethostname(),
        pid=os.getpid(),
        started_ms=began or 0,
    )


def holder_of(status: FlowStatus | None) -> Holder:
    """Return whether the process that wrote a status is known to be gone.

    Known only if it ran where we run: the same boot of the same machine, and the same pid
    namespace, for containers may share a host name. Elsewhere a pid means nothing.
    """
    if status is None or not status.instance.endswith(f".{machine()}") or not psutil.LINUX:
        return Holder.UNKNOWN
    began = process_began_ms(status.pid)
    same = began is not None and abs(began - status.started_ms) < _CLOCK_STEP_MS
    return Holder.UNKNOWN if same else Holder.GONE


def machine() -> str:
    """Return an id of this boot and pid namespace, the same for all processes in it."""
    parts = [_read("/proc/sys/kernel/random/boot_id"), socket.gethostname()]
    try:
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        parts.append("")
    return f"{crc32(' '.join(parts).encode()):08x}"


def process_began_ms(pid: int) -> int | None:
    """Return when a process began, by the present wall clock; None: there is no such process."""
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        return int(process.create_time() * 1000)
    except (psutil.Error, ValueError):  # ValueError: no process has a pid below 0
        return None


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
