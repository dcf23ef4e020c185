"""Dagster schedules: old runs are deleted daily; batch flows, drills, verifications by the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from orchestration.dagster.flow_jobs.batch_job import BATCH
from orchestration.dagster.flow_jobs.drill_job import DrillAction
from orchestration.dagster.flow_jobs.verify_job import VERIFY
from orchestration.dagster.jobs import PARTITION_TAG, prune_history
from orchestration.services.asset_names import slug
from replication.recovery.procedure import DRILL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_CALLED = {BATCH: "run", VERIFY: "verification"}
_UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

prune_daily = dg.ScheduleDefinition(
    name="prune_daily",
    job=prune_history,
    cron_schedule="17 4 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)


def build_schedules(
    config: Config, flow_jobs: Mapping[str, dg.JobDefinition]
) -> list[dg.ScheduleDefinition]:
    """Return all schedules that are of no asset; ``flow_jobs`` by their names."""
    drill, batches = flow_jobs[DRILL], [e for e in config.flows if e.is_batch and e.batch_schedule]
    return [
        prune_daily,
        *(_one_at_a_time(each, flow_jobs[BATCH], "batch.schedule") for each in batches),
        *(_drills(each, drill) for each in config.flows if each.drill_schedule),
        *(
            _one_at_a_time(each, flow_jobs[VERIFY], "verify.schedule")
            for each in config.flows
            if each.verify_schedule
        ),
    ]


def _drills(flow: Flow, job: dg.JobDefinition) -> dg.ScheduleDefinition:
    @dg.schedule(
        job=job,
        name=f"drill_{slug(flow.name)}",
        cron_schedule=flow.drill_schedule,
        description=f"{flow.name}: drill.schedule",
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    def drills() -> dg.RunRequest:
        config = {"action": DrillAction.CARRY_OUT.name}
        return dg.RunRequest(
            partition_key=flow.name, run_config={"ops": {"practise": {"config": config}}}
        )

    return drills


def _one_at_a_time(flow: Flow, job: dg.JobDefinition, key: str) -> dg.ScheduleDefinition:
    """Return a schedule that skips while the flow's run before has not ended."""
    cron = {"batch.schedule": flow.batch_schedule, "verify.schedule": flow.verify_schedule}[key]

    @dg.schedule(
        job=job,
        name=f"{job.name}_{slug(flow.name)}",
        cron_schedule=cron,
        description=f"{flow.name}: {key}",
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    def runs(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        tags = {PARTITION_TAG: flow.name}
        under_way = dg.RunsFilter(job_name=job.name, tags=tags, statuses=_UNDER_WAY)
        if context.instance.get_run_records(under_way, limit=1):
            return dg.SkipReason(
                f"the previous {_CALLED[job.name]} of {flow.name} has not ended yet"
            )
        return dg.RunRequest(partition_key=flow.name)

    return runs
