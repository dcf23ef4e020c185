"""Runs the background tasks of a flow at once."""

import dagster as dg

from orchestration.dagster.background_tasks.task_assets import TaskRunReport, perform
from orchestration.dagster.background_tasks.task_list import flow_tasks
from orchestration.dagster.flow_jobs.chosen_flow import chosen, report_change
from orchestration.dagster.resources import IsthmusResource


@dg.op(description="Run all background tasks of a flow that the file enables, once.")
def run_tasks(context: dg.OpExecutionContext, isthmus: IsthmusResource) -> None:
    """Sync configs, ACLs and group offsets; write heartbeats and checkpoints.

    One task that fails stops none of the others. Raises Failure with the reasons.
    """
    with chosen(context, isthmus) as run:
        reports: dict[str, TaskRunReport] = {}
        for flow, task in flow_tasks(run.config):
            if flow.name == run.flow.name and task.enabled:
                found = perform(task, run.config, run.flow, isthmus.task_clients())
                context.log.info("%s: %s: %s", flow.name, task.name, found.summary)
                reports[task.name] = found
        rows = [{"task": name, "outcome": each.summary} for name, each in reports.items()]
        text = "; ".join(f"{each['task']}: {each['outcome']}" for each in rows)
        report_change(context, run.flow, text or "the file enables no background task", rows)
        failed = [f"{name}: {'; '.join(e.failures)}" for name, e in reports.items() if e.failures]
        if failed:
            raise dg.Failure(f"{run.flow.name}: {'; '.join(failed)}", allow_retries=False)
