"""What other users and other machines could reach of running processes: files and ports."""

from __future__ import annotations

import contextlib
import os
import stat
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable


def open_to_others(root: Path) -> list[str]:
    """Return each file and directory under ``root``, itself included, that has rights for others.

    Symbolic links have no rights of their own, and sockets are reached through their directory.
    """
    found = []
    inside = (Path(at, name) for at, rooms, files in os.walk(root) for name in (*rooms, *files))
    for path in (root, *inside):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # written and removed meanwhile
            continue
        if not stat.S_ISLNK(mode) and mode & 0o077:
            found.append(f"{stat.filemode(mode)} {path}")
    return found


def tree(*pids: int) -> list[psutil.Process]:
    """Return these processes and all that they started."""
    roots = [psutil.Process(pid) for pid in pids]
    return [*roots, *(child for root in roots for child in root.children(recursive=True))]


def reachable_ports(processes: Iterable[psutil.Process]) -> list[str]:
    """Return ``command address:port`` of each listener that is not on a loopback address."""
    return [
        f"{process.name()} {each.laddr.ip}:{each.laddr.port}"
        for process, each in _listeners(processes)
        if not ip_address(each.laddr.ip.removeprefix("::ffff:")).is_loopback
    ]


def listens(processes: Iterable[psutil.Process]) -> bool:
    """Return whether they listen at all: without, no reachable port means nothing."""
    return bool(_listeners(processes))


def _listeners(processes: Iterable[psutil.Process]) -> list[tuple[psutil.Process, object]]:
    found: list[tuple[psutil.Process, object]] = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            found += [
                (process, each)
                for each in process.net_connections("inet")
                if each.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)
            ]
    return found
