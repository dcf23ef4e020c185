"""How often a background task runs, and whether Dagster or the driver runs it. Pure.

Dagster's clock knows whole minutes, and a run of it costs seconds: what comes more often than once
a minute is the Spark driver's.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

GROUPS_TASK: Final = "group offsets"
REPORT_EVERY_S: Final = 10.0  # how often the driver reports an unchanged outcome of a task again

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_MINUTES = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)  # that divide an hour
_HOURS = (1, 2, 3, 4, 6, 8, 12)  # that divide a day
_LONGEST = 28  # days; a month has no more for certain


def is_for_driver(every: timedelta) -> bool:
    """Say whether the driver's loop sees to it rather than Dagster's schedules."""
    return every < _MINUTE


def cron(every: timedelta) -> str:
    """Return the cron line that comes nearest to ``every``, never more seldom.

    Only what divides an hour or a day evenly comes evenly; all else is rounded down to that.
    """
    if every < _HOUR:
        step = max((each for each in _MINUTES if each * _MINUTE <= every), default=1)
        return "* * * * *" if step == 1 else f"*/{step} * * * *"
    if every < _DAY:
        step = max(each for each in _HOURS if each * _HOUR <= every)
        return "0 * * * *" if step == 1 else f"0 */{step} * * *"
    days = min(every // _DAY, _LONGEST)
    return "0 0 * * *" if days == 1 else f"0 0 */{days} * *"
