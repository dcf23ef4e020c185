"""Logs a file's warnings and effective patterns once a start, and again when they changed.

A driver that its watcher restarts says nothing again: the record of what was logged is a file.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog

from replication.adapters.local.files import write_whole
from replication.config.announcement import pattern_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from spark_jobs.process.appdir import AppDir

log = structlog.get_logger()


def announce(config: Config, flows: Iterable[Flow], directory: AppDir) -> None:
    """Log the announcement unless this watcher's drivers have logged the same."""
    patterns = tuple(map(pattern_line, flows))
    content = "\n".join((_watcher(directory), *config.warnings, *patterns))
    digest = hashlib.sha256(content.encode()).hexdigest()
    with suppress(OSError, ValueError):
        if directory.announced.read_text() == digest:
            return
    for warning in config.warnings:
        log.warning(warning)
    for line in patterns:
        log.info(line)
    with suppress(OSError):  # then the next driver logs it again
        write_whole(directory.announced, digest)


def _watcher(directory: AppDir) -> str:
    """Return what tells one watcher from the next; empty: the driver runs without one."""
    with suppress(OSError, ValueError, KeyError):
        record = json.loads(directory.watch.read_bytes())
        return f"{record['pid']} {record['started_ms']}"
    return ""
