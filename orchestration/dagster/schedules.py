"""Dagster schedules of Isthmus' own upkeep: old runs are deleted daily."""

from __future__ import annotations

import dagster as dg

from orchestration.dagster.jobs import prune_history

prune_daily = dg.ScheduleDefinition(
    name="prune_daily",
    job=prune_history,
    cron_schedule="17 4 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)

ALL = [prune_daily]
