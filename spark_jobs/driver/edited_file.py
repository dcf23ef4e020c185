"""Reads the file that is followed, beside the driver's loop, and says what an edit asks for.

An edit of topics, patterns, intervals, budgets or policies is in force from the next plan on;
another number of units from the next query on; anything else from the next start of the driver on,
which ends its epochs cleanly before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from replication.supervision.driver_supervision import applications
from spark_jobs.transform.application_conf import application_conf

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Executor, Future

    from replication.adapters.followed_file import FileInForce, FollowedFile
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_LOOK_S = 1.0


class EditedFile:
    """The file of a driver. Another thread reads it: a disk that hangs delays no heartbeat."""

    def __init__(self, file: FollowedFile, reading: FileInForce, pool: Executor) -> None:
        self.reading = reading
        self._file = file
        self._pool = pool
        self._looking: Future[FileInForce] | None = None
        self._look_at = 0.0

    def look(self) -> bool:
        """Take a finished reading, start the next one when due; return whether it is new."""
        if self._looking is None:
            if time.monotonic() >= self._look_at:
                self._looking = self._pool.submit(self._file.look)
            return False
        if not self._looking.done():
            return False
        looking, self._looking = self._looking, None
        self._look_at = time.monotonic() + _LOOK_S
        before, self.reading = self.reading, looking.result()
        return self.reading is not before


def hosted(before: Config, after: Config, application: str, names: Iterable[str]) -> set[str]:
    """Return the flows of an application by an edited file; one started by hand keeps its own."""
    if all(each.name != application for each in applications(before)):
        return {each.name for each in after.flows}.intersection(names)
    found = (each.flows for each in applications(after) if each.name == application)
    return set(next(found, ()))


def restart_reason(before: Config, after: Config, names: set[str], keeps: set[str]) -> str:
    """Return what only another start of the driver puts into force; empty: nothing. Pure.

    ``names``: the flows that it copies now; ``keeps``: those that it has by the edited file.
    """
    if names != keeps or _into(before, names) != _into(after, names):
        return "other flows"
    if before.metrics != after.metrics:
        return "metrics.*"
    confs = (
        application_conf(each.spark, [each.flow(name) for name in names])
        for each in (before, after)
    )
    if next(confs) != next(confs):
        return "Spark's settings"
    changed = (_connected(before.flow(name), after.flow(name)) for name in sorted(names))
    return next(filter(None, changed), "")


def _into(config: Config, names: set[str]) -> set[str]:
    """Return all flows into the target of these, of other applications too."""
    targets = {config.flow(name).target for name in names}
    return {each.name for each in config.flows if each.target in targets}


def _connected(before: Flow, after: Flow) -> str:
    """Return what differs of that which a driver sets up when it takes a flow's lease."""
    copying = (before.copying, before.policies) != (after.copying, after.policies)
    factors = before.state_replication_factor, after.state_replication_factor
    differs = (
        (before.mode != after.mode, "mode of"),
        (before.clients != after.clients, "client settings of"),
        (before.copying.delivery != after.copying.delivery, "copy.delivery of"),
        (factors[0] != factors[1], "isthmus.topics.replication.factor of"),
        (before.policies.dead_letters != after.policies.dead_letters, "dead.letters.enabled of"),
        (before.transforms != after.transforms, "transforms of"),
        (bool(after.transforms) and copying, "settings for the transforms of"),
    )
    return next((f"{what} {after.name}" for changed, what in differs if changed), "")
