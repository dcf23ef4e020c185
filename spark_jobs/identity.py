"""Who this driver is, and whether another one on this machine still lives."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from replication.lease import Holder
from replication.state import FlowStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

_TICKS = os.sysconf("SC_CLK_TCK")
_CLOCK_STEP_MS = 10_000  # the time of the boot is reckoned from a clock that gets corrected


def new_status(flow: str) -> FlowStatus:
    """Return a first status of this process; ``started_ms`` is when the process began."""
    began = process_began_ms(os.getpid())
    return FlowStatus(
        flow=flow,
        instance=f"{uuid.uuid4().hex[:12]}.{machine()}",
        host=socket.gethostname(),
        pid=os.getpid(),
        started_ms=began or 0,
    )


def holder_of(seen: FlowStatus | None) -> Holder:
    """Say whether the process that wrote a status is known to be gone.

    Only if it ran where we run: the same boot of the same machine, and the same pid namespace,
    for containers may share a host name. Elsewhere a pid means nothing.
    """
    if seen is None or not seen.instance.endswith(f".{machine()}") or not _tells():
        return Holder.UNKNOWN
    began = process_began_ms(seen.pid)
    same = began is not None and abs(began - seen.started_ms) < _CLOCK_STEP_MS
    return Holder.UNKNOWN if same else Holder.GONE


def machine() -> str:
    """Return a name of this boot and pid namespace, the same for all processes in it."""
    told = [_read("/proc/sys/kernel/random/boot_id"), socket.gethostname()]
    try:
        told.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        told.append("")
    return f"{crc32(' '.join(told).encode()):08x}"


def process_began_ms(pid: int) -> int | None:
    """Return when a process began, in the wall clock of now; None when it is not there."""
    fields = stat_fields(pid)
    if fields is None or fields[0] in "ZX":
        return None
    return boot_ms() + int(fields[19]) * 1000 // _TICKS


def stat_fields(pid: int) -> Sequence[str] | None:
    """Return the fields of ``/proc/<pid>/stat`` that follow the name, the state first."""
    text = _read(f"/proc/{pid}/stat")
    return text.rpartition(")")[2].split() if text else None


def boot_ms() -> int:
    """Return when the machine was booted, as the kernel tells it: one value a boot."""
    for line in _read("/proc/stat").splitlines():
        if line.startswith("btime "):
            return int(line.split()[1]) * 1000
    return 0


def _tells() -> bool:
    return Path("/proc/self/stat").exists()


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
