"""Notices that Dagster's definitions are older than the configuration file.

They are built when the code server starts: flows, topics and clusters are assets, and intervals are
schedules. So it is to start again after an edit, but not while a run works in its processes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psutil

from replication.adapters.followed_file import FollowedFile
from replication.config.changes import is_same
from replication.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from replication.adapters.followed_file import FileInForce
    from replication.adapters.local.processes import Process

_LOOK_S = 2.0


class EditedDefinitions:
    """The file, and the settings by which the code server was started."""

    def __init__(self, config: Path, state: Path) -> None:
        self._file = FollowedFile(config, state, keeps=False)
        self._started_by: FileInForce | None = None
        self._look_at = 0.0

    def are_old(self, code: Process | None) -> bool:
        """Return whether the code server is to start again now; looks every two seconds."""
        now_s = time.monotonic()
        if code is None or now_s < self._look_at:
            return False
        self._look_at = now_s + _LOOK_S
        try:
            reading = self._file.look()
        except ConfigError:  # it was never valid; the code server says so
            return False
        started_by, self._started_by = self._started_by or reading, reading
        if is_same(started_by.config, reading.config):
            return False
        if _works(code):
            self._started_by = started_by
            return False
        return True


def _works(code: Process) -> bool:
    """Return whether the code server has processes of its own: each is a run."""
    try:
        return bool(psutil.Process(code.pid).children())
    except psutil.Error:
        return False
