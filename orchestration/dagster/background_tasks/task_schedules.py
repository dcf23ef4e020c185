"""Builds asset, job, schedule and check of each background task of a flow.

A task that only syncs is planned by its schedule, and run if there is something to change. Tasks
that the Spark driver runs have a job too, but their schedule is stopped.
"""

from collections.abc import Iterable

import dagster as dg

from orchestration.dagster.background_tasks.drift import SYNC_CHECK, find_pending, sync_tick
from orchestration.dagster.background_tasks.task_assets import (
    FlowTask,
    build_task_asset,
    task_key,
    when,
)
from orchestration.dagster.jobs import FLOW_TAG, RUN_TAGS
from orchestration.dagster.resources import IsthmusResource
from orchestration.services.asset_names import slug
from replication.errors import ClusterUnavailable
from replication.settings.flow_settings import Flow
from replication.supervision.task_schedule import cron


def build_task_definitions(pairs: Iterable[tuple[Flow, FlowTask]]) -> dg.Definitions:
    """Return the definitions of all tasks of all flows."""
    return dg.Definitions.merge(*(build_task(flow, task) for flow, task in pairs))


def build_task(flow: Flow, task: FlowTask) -> dg.Definitions:
    """Return asset, job and schedule of a task, and the check of one that can be planned."""
    made = build_task_asset(flow, task)
    job = dg.define_asset_job(
        f"{task.name}_{slug(flow.name)}",
        selection=dg.AssetSelection.assets(made).without_checks(),
        description=f"{flow.name}: {task.description}",
        executor_def=dg.in_process_executor,
        tags={**RUN_TAGS, FLOW_TAG: slug(flow.name)},
    )
    return dg.Definitions(
        assets=[made],
        jobs=[job],
        schedules=[_schedule(flow, task, job.name)],
        asset_checks=[_sync_check(flow, task)] if task.pending else [],
    )


def _schedule(flow: Flow, task: FlowTask, job: str) -> dg.ScheduleDefinition:
    runs = task.enabled and not task.is_the_drivers
    status = dg.DefaultScheduleStatus

    @dg.schedule(
        job_name=job,
        name=f"{job}_schedule",
        cron_schedule=cron(task.every),
        description=when(task),
        default_status=status.RUNNING if runs else status.STOPPED,
    )
    def tick(
        context: dg.ScheduleEvaluationContext, isthmus: IsthmusResource
    ) -> dg.RunRequest | dg.SkipReason:
        if task.pending is None:
            return dg.RunRequest()
        return sync_tick(context.instance, isthmus, flow.name, task)

    return tick


def _sync_check(flow: Flow, task: FlowTask) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=task_key(flow.name, task.name),
        name=SYNC_CHECK,
        description=f"The copies on {flow.target} are as on {flow.source}, and as the file says.",
    )
    def check(isthmus: IsthmusResource) -> dg.AssetCheckResult:
        """Plan now; change nothing. Any change fails a check that a person runs."""
        found = find_pending(isthmus, flow.name, task)
        if found.silence:
            raise ClusterUnavailable(found.silence)
        reason = found.text or "nothing to change"
        return dg.AssetCheckResult(passed=not found.changes, description=reason)

    return check
