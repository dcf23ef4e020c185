"""What runs from a state directory: Dagster's services and Spark applications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.services.keeper import running_services
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory
from replication.supervision.driver_supervision import Application

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_THEIR_OWN = ("backfills", "drills")  # commands whose drivers have state directories of theirs


def with_own(where: StateDirectory) -> tuple[StateDirectory, ...]:
    """Return the state directory, and those in it of backfills and drills."""
    own = (each for name in _OF_THEIR_OWN for each in sorted((where.root / name).glob("*")))
    return (where, *map(StateDirectory, own))


def applications_in(where: StateDirectory) -> tuple[Application, ...]:
    """Return the applications that were ever started from a state directory, by name alone."""
    names = sorted(each.name for each in where.app("").glob("*"))
    return tuple(Application(each, each, ()) for each in names)


def running_here(where: StateDirectory) -> Iterator[str]:
    """Yield what runs from a state directory, and from those of backfills and drills in it."""
    for each in with_own(where):
        of = "" if each == where else f" of {each.root.relative_to(where.root)}"
        if running_services(each):
            yield f"Dagster{of}"
        launcher = Launcher(each, Path())
        for app in applications_in(each):
            if launcher.watcher_alive(app) or launcher.driver_alive(app):
                yield f"application {app.name}{of}"
