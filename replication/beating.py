"""Whether a flow's heartbeats are as young as they should be. Pure.

The driver says of each duty when it last ended well, so nobody has to read the heartbeats for it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from replication.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.config.model import Heartbeats
    from replication.state import DutyReport

HEARTBEATS_DUTY = "heartbeats"
_LATE = timedelta(seconds=60)  # besides the interval: reports come every 10 s, looks every few


def beating(
    settings: Heartbeats, reports: Iterable[DutyReport], now_ms: int, *, up_s: float, wanted: bool
) -> tuple[bool, str]:
    """Return whether the newest heartbeat is young enough, and why, in one line.

    ``reports`` are those of the flow's duties. Heartbeats rest while the flow is not ``wanted``;
    ``up_s``: its driver may not have written one yet.
    """
    if not settings.enabled or not wanted:
        return True, "the flow is not to run" if settings.enabled else "switched off in the file"
    last = next((each for each in reports if each.name == HEARTBEATS_DUTY), None)
    limit = settings.every + _LATE
    if last is None:
        told = f"none was written in {up_s:.0f} s"
        return timedelta(seconds=up_s) <= limit, told
    age_s = max(0, now_ms - last.at_ms) / 1000
    if not last.ok:
        return False, f"{age_s:.0f} s ago: {last.summary}"
    told = f"the newest is {age_s:.0f} s old, limit {format_duration(limit)}"
    return timedelta(seconds=age_s) <= limit, told
