"""The group offset sync in Dagster: its task, report and freshness check."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg

from orchestration.dagster.background_tasks.task_assets import FlowTask, TaskRunReport, task_key
from orchestration.dagster.resources import IsthmusResource  # noqa: TC001 - Dagster reads the annotations
from replication.clock import now_ms
from replication.offsets.groups.consumer_groups import CommitGroup, explain_group
from replication.offsets.groups.sync_round import summary
from replication.state import TaskReport, status_topic
from replication.supervision.task_schedule import GROUPS_TASK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.client.admin import Clients
    from replication.errors import ReplicationError
    from replication.offsets.groups.sync_round import SyncRound
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

NAME = "group_offsets"
FRESH_CHECK = "group_offsets_fresh"
_PATIENCE = timedelta(seconds=30)  # what a sync may take, on top of three intervals


def group_task(flow: Flow) -> FlowTask:
    """Return the task that syncs the group offsets of a flow."""
    return FlowTask(
        NAME,
        f"Sync consumer group offsets from {flow.source} to {flow.target}.",
        flow.groups.every,
        sync_groups,
        enabled=flow.groups.sync,
        by_driver=True,  # at any interval: two that commit could take a group back
    )


def sync_groups(config: Config, flow: Flow, clients: Clients) -> TaskRunReport:  # noqa: ARG001 - as all tasks
    """Sync once, as the driver does. Raises ReplicationError."""
    from replication.adapters.group_syncs import opened_sync  # noqa: PLC0415 - on first use

    with opened_sync(flow, config) as (sync, _):
        found = sync.plan()
        return report(found, sync.target.commit(found.commits))


def report(found: SyncRound, refused: Mapping[str, ReplicationError]) -> TaskRunReport:
    """Return the report of a sync: its plan, the outcome of each action, and figures."""
    failures = [f"group {group}: {reason}" for group, reason in refused.items()]
    failures += [f"group {each.group}: {each.reason}" for each in found.unreadable]
    failures += [f"some groups were skipped: {found.unread}"] if found.unread else []
    groups = len({each.group for each in found.translated})
    return TaskRunReport(
        summary(found, refused, groups),
        tuple(_rows(found, refused)),
        tuple(failures),
        {
            "groups": groups,
            "moved": len(found.commits) - len(refused),
            "offsets not copied yet": found.waiting,
            "offsets without a translation": len(found.problems),
        },
    )


def _rows(found: SyncRound, refused: Mapping[str, ReplicationError]) -> Iterator[dict[str, str]]:
    for action in found.actions:
        done = "skipped"
        if isinstance(action, CommitGroup):
            done = str(refused.get(action.group, "done"))
        for line in explain_group(action):
            yield {"what": line, "outcome": done}


def build_fresh_check(flow: Flow) -> dg.AssetChecksDefinition:
    """Return the check that the driver synced group offsets recently."""

    @dg.asset_check(
        asset=task_key(flow.name, NAME),
        name=FRESH_CHECK,
        description="The driver synced the consumer group offsets recently.",
    )
    def check(isthmus: IsthmusResource) -> dg.AssetCheckResult:
        found = isthmus.clusters().store(flow).read(status_topic(flow.source))
        last = found.get(TaskReport(flow.name, GROUPS_TASK).key())
        passed, reason = freshness(last if isinstance(last, TaskReport) else None, flow, now_ms())
        return dg.AssetCheckResult(passed=passed, metadata={"reason": reason})

    return check


def freshness(last: TaskReport | None, flow: Flow, moment_ms: int) -> tuple[bool, str]:
    """Return whether the group offsets of a flow were synced recently, and the reason."""
    if last is None:
        return flow.is_batch, "the driver has not synced group offsets yet"
    age = timedelta(milliseconds=moment_ms - last.at_ms)
    reason = f"{age.total_seconds():.0f} s ago: {last.summary}"
    young = flow.is_batch or age <= 3 * flow.groups.every + _PATIENCE  # which rests between runs
    return last.ok and young, reason
