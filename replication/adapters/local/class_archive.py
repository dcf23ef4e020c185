"""Archives of loaded classes, with which a JVM starts in half the time.

An archive fits one Java and one set of jars; both are in its name.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import cache
from replication.adapters.local.user import is_writable
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def archive_path(program: str, jars: Sequence[Path]) -> Path | None:
    """Return where the archive of a program is, or would be.

    None: the user has no home, or one in which it is not and cannot be written.
    """
    try:
        place = cache()
    except EnvironmentProblem:
        return None
    real, stamp = java().resolve(), max(each.stat().st_mtime_ns for each in jars)
    identity = f"{real} {real.stat().st_mtime_ns} {jars[0].parent} {len(jars)} {stamp}"
    archive = place / f"{program}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"
    return archive if os.access(archive, os.R_OK) or is_writable(place) else None


def java_options(archive: Path) -> list[str]:
    """Return the options of a JVM that takes its classes from an archive.

    At the address that the archive was written for: to move the pointers of 100 MB costs a start
    half a second of CPU time (measured with Java 17, which moves them unless told otherwise).
    """
    address = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
    return [f"-XX:SharedArchiveFile={archive}", *address]
