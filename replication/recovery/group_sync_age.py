"""How old the stored offsets of groups are, and whether the group sync had been silent. Pure.

A failover sets the offsets that the last good round of the sync read at the source. A group whose
offsets did not change is at rest if rounds were good until the source was lost; else it may have
committed others since.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from replication.durations import format_duration, format_moment
from replication.state import GROUPS_OFF
from replication.supervision.task_schedule import GROUPS_TASK, REPORT_EVERY_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.settings.flow_settings import Flow
    from replication.state import TaskReport

_LATE = timedelta(seconds=REPORT_EVERY_S + 5)  # besides the interval and the time of a round


@dataclass(frozen=True, slots=True)
class GroupSyncAge:
    """When all groups were last read at the source; ``at_ms``: the moment as of which that is said.

    ``read_ms`` None: never, as far as is known. ``silence``: why no round was good for longer than
    the interval; empty: there was one. ``enabled``: the file says that groups are synced.
    """

    at_ms: int
    read_ms: int | None = None
    silence: str = ""
    enabled: bool = True

    @property
    def age_s(self) -> float | None:
        """Seconds from the last good round to ``at_ms``; None: there was none that is known."""
        return None if self.read_ms is None else max(0, self.at_ms - self.read_ms) / 1000

    @property
    def warning(self) -> str:
        """What it means that the sync was silent, in sentences; empty: it was not."""
        if not self.silence:
            return ""
        since = "" if self.read_ms is None else " since"
        return (
            f"the group sync was silent: {self.silence}. Offsets that groups committed at the "
            f"source{since} are unknown: these groups may read records again, and a new group "
            "starts at auto.offset.reset"
        )

    @property
    def sentence(self) -> str:
        """When the offsets were read."""
        if self.read_ms is None:
            return "the time when the offsets of groups were last read at the source is unknown"
        return (
            f"the offsets of groups were last read at the source at {format_moment(self.read_ms)} "
            f"UTC, {self.age_s:.0f} s before"
        )

    def as_data(self) -> dict[str, Any]:
        """Return it as values for JSON; times in ms."""
        return {"last_read_ms": self.read_ms, "age_s": self.age_s, "warning": self.warning}


def group_sync_age(flow: Flow, reports: Iterable[TaskReport], at_ms: int) -> GroupSyncAge:
    """Return how old a flow's stored groups were at ``at_ms``.

    ``reports`` are those of the flow's background tasks. A batch flow syncs groups when it runs, so
    only a round that failed makes it silent.
    """
    last = next((each for each in reports if each.name == GROUPS_TASK), None)
    read_ms = last.last_good_ms if last is not None and last.summary != GROUPS_OFF else 0
    silence = _silence(flow, last, read_ms, at_ms)
    return GroupSyncAge(at_ms, read_ms or None, silence, flow.groups.sync)


def _silence(flow: Flow, last: TaskReport | None, read_ms: int, at_ms: int) -> str:
    if not flow.groups.sync:
        return "sync.group.offsets.enabled is false"
    if last is None:
        return "no round of it was ever reported"
    if last.summary == GROUPS_OFF:
        return "its driver ran with sync.group.offsets.enabled = false"
    limit = flow.groups.every + _LATE + timedelta(milliseconds=last.took_ms)
    late = timedelta(milliseconds=at_ms - read_ms) > limit
    if not last.ok and late:
        return f"its last round, at {format_moment(last.at_ms)} UTC, failed: {last.summary}"
    if late and not flow.is_batch:
        return (
            f"its interval is {format_duration(flow.groups.every)}, and no round was reported "
            "since: the driver did not run, or the flow was paused or stopped"
        )
    return ""
