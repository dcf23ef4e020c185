"""Events about the background tasks that a driver performs. Pure.

A driver may do a task every second. Reported are the first round, each change between success and
failure, and one round in ten minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration.dagster.background_tasks.task_assets import task_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.state import TaskReport

ROUND_MS = 600_000

Reported = dict[str, tuple[bool, int]]  # by task: whether the round was one, when it ended


def asset_name(task: str) -> str:
    """Return the last part of the key of a driver's task: ``group_offsets``."""
    return task.lower().replace(" ", "_")


def parse(stored: Mapping[str, Any]) -> Reported:
    """Read what was reported from a cursor. Raises ValueError and TypeError."""
    return {name: (bool(ok), int(at_ms)) for name, (ok, at_ms) in stored.items()}


def round_events(
    flow: str, reports: Iterable[TaskReport], last: Mapping[str, tuple[bool, int]],
    assets: Collection[str],
) -> tuple[list[dg.AssetMaterialization | dg.AssetObservation], Reported]:  # fmt: skip
    """Return the events of a flow's tasks that have an asset, and what is reported then.

    A round that succeeded materializes the task's asset; one that failed is an observation.
    """
    events: list[dg.AssetMaterialization | dg.AssetObservation] = []
    now: Reported = dict(last)
    for each in reports:
        name = asset_name(each.name)
        was_ok, was_ms = last.get(name, (None, 0))
        due = each.at_ms - was_ms >= ROUND_MS or each.ok is not was_ok
        if name in assets and each.at_ms and due:
            events.append(_event(flow, name, each))
            now[name] = each.ok, each.at_ms
    return events, now


def _event(
    flow: str, name: str, report: TaskReport
) -> dg.AssetMaterialization | dg.AssetObservation:
    metadata: dict[str, Any] = {
        "summary": report.summary or "done",
        "by": "the Spark driver",
        "milliseconds": report.took_ms,
        "ended": dg.MetadataValue.timestamp(report.at_ms / 1000),
    }
    kind = dg.AssetMaterialization if report.ok else dg.AssetObservation
    return kind(task_key(flow, name), description=report.summary or None, metadata=metadata)
