"""Judges this machine: Java, Spark, the state directory."""

from __future__ import annotations

import platform
import shutil
from typing import TYPE_CHECKING

from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel
from orchestration.services.state_directory import HOME_VARIABLE, MIN_FREE_BYTES
from replication.adapters.local.java import java
from replication.adapters.local.pyspark_home import pyspark_home
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WHERE = "this machine"
ENOUGH_BYTES = 1 << 30  # logs, Dagster's history and Spark's checkpoints of some weeks


def judge_machine(state_directory: Path) -> Iterator[DiagnosisFinding]:
    """Yield findings about what a driver needs here."""
    yield DiagnosisFinding(FindingLevel.OK, WHERE, "Python", f"Python {platform.python_version()}")
    yield _found("Java", java)
    yield _found("Spark", pyspark_home)
    yield judge_space(state_directory, shutil.disk_usage(_existing(state_directory)).free)


def judge_space(state_directory: Path, free_bytes: int) -> DiagnosisFinding:
    """Return whether the state directory's disk has enough space."""
    what = f"{free_bytes / 1e9:,.1f} GB are free for the state directory {state_directory}"
    to_do = f"free some, or set {HOME_VARIABLE} to another directory"
    if free_bytes < MIN_FREE_BYTES:
        return DiagnosisFinding(FindingLevel.ERROR, WHERE, "disk", what, to_do)
    if free_bytes < ENOUGH_BYTES:
        return DiagnosisFinding(FindingLevel.WARNING, WHERE, "disk", what, to_do)
    return DiagnosisFinding(FindingLevel.OK, WHERE, "disk", what)


def _found(name: str, find: Callable[[], Path]) -> DiagnosisFinding:
    try:
        return DiagnosisFinding(FindingLevel.OK, WHERE, name, str(find()))
    except EnvironmentProblem as problem:
        what, _, to_do = str(problem).partition(": ")
        return DiagnosisFinding(FindingLevel.ERROR, WHERE, name, what, to_do)


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())
