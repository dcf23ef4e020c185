"""Whether a flow's heartbeats are recent enough. Pure.

The driver reports when each background task last succeeded, so the heartbeats need not be read.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from replication.durations import format_duration
from replication.model import Desired, FlowState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.settings.mm2_settings import Heartbeats
    from replication.state import TaskReport

HEARTBEATS_TASK = "heartbeats"
_AT_REST = {FlowState.STOPPED, FlowState.PAUSED}
_LATE = timedelta(seconds=60)  # besides the interval: reports come every 10 s, looks every few


def resting(desired: Desired, state: str | None) -> str:
    """Return why no heartbeats are to be expected of a flow; empty: they are.

    ``state`` is what its driver reported last, None: nothing.
    """
    if desired is not Desired.RUN:
        return "the flow is paused or stopped"
    return f"the flow is still {state}" if state in _AT_REST else ""


def beating(
    settings: Heartbeats, reports: Iterable[TaskReport], now_ms: int, *, due_s: float, rests: str
) -> tuple[bool, str]:
    """Return whether the newest heartbeat is young enough, and why, in one line.

    ``reports`` are those of the flow's background tasks. ``due_s``: how long the driver could have
    written heartbeats; an older report is ignored. ``rests``: see ``resting``.
    """
    if not settings.enabled or rests:
        return True, rests if settings.enabled else "disabled in the configuration file"
    last = next((each for each in reports if each.name == HEARTBEATS_TASK), None)
    limit = settings.every + _LATE
    age_s = due_s if last is None else max(0, now_ms - last.at_ms) / 1000
    if last is None or age_s > due_s:
        in_time = timedelta(seconds=due_s) <= limit
        why = "" if in_time else ": see `isthmus logs FILE`"
        return in_time, f"no heartbeat was written in {due_s:.0f} s{why}"
    if not last.ok:
        return False, f"{age_s:.0f} s ago: {last.summary}"
    summary = f"the newest is {age_s:.0f} s old, limit {format_duration(limit)}"
    return timedelta(seconds=age_s) <= limit, summary
