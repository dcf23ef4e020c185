"""Alerts about runs that failed: the 1st, 2nd, 4th, 8th … failure of a job in a row."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dagster as dg

from orchestration.alerts.alert import RUN_FAILED, Alert, lines
from orchestration.alerts.runbooks import runbook
from orchestration.dagster.jobs import APPLICATION_TAG, FLOW_TAG, PARTITION_TAG
from orchestration.services.asset_names import slug

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from orchestration.alerts.conditions import Condition

LOOK_BACK = 64
_AT_ONCE = 20  # failed runs of one look
_REASONS = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}


def failed_runs(
    instance: dg.DagsterInstance, after_s: float, conditions: Sequence[Condition], base: str
) -> tuple[list[Alert], float]:
    """Return alerts about runs that failed after ``after_s``, and the time of the last one.

    None about a run of a flow whose cluster does not answer: the cluster has an alert. None about
    one that ended in the future: the clock was ahead then, and was set back.
    """
    now_s = time.time()
    after_s = min(after_s, now_s)
    after = datetime.fromtimestamp(after_s, UTC)
    failed = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=after)
    records = instance.get_run_records(failed, limit=_AT_ONCE, ascending=True)
    silent = {each.flow for each in conditions if each.silent}
    alerts: list[Alert] = []
    for each in records:
        updated_s = each.update_timestamp.timestamp()
        if updated_s > now_s:
            continue
        after_s = max(after_s, updated_s)
        if not _concerns(each.dagster_run, conditions, silent):
            alerts += _alert(instance, each.dagster_run, base)
    return alerts, after_s


def _concerns(run: dg.DagsterRun, conditions: Sequence[Condition], flows: Collection[str]) -> bool:
    """Return whether a run is about one of ``flows``: it starts its application, or is its task."""
    app, flow = run.tags.get(APPLICATION_TAG), run.tags.get(FLOW_TAG)
    return any(
        app == slug(each.application) or flow == slug(each.flow)
        for each in conditions
        if each.flow in flows
    )


def _alert(instance: dg.DagsterInstance, run: dg.DagsterRun, base: str) -> Iterator[Alert]:
    in_a_row = failures_in_a_row(instance, run)
    if not is_worth_an_alert(in_a_row):
        return
    subject = next(iter(_about(run).values()), run.job_name)
    book = runbook("RUN_FAILED")
    times = "" if in_a_row == 1 else f" ({in_a_row} times in a row)"
    link = f"{base}#{book.section}"
    title = f"{run.job_name} for {subject} failed{times}"
    at_ms = int(datetime.now(UTC).timestamp() * 1000)
    text = lines(title, reason=_cause(instance, run), do=book.action, runbook=link, run=run.run_id)
    yield Alert(RUN_FAILED, subject, text, at_ms, state="RUN_FAILED", runbook=link)


def _about(run: dg.DagsterRun) -> dict[str, str]:
    """Return the tags that say which application or flow a run is about; none: its job says it."""
    return {key: run.tags[key] for key in (APPLICATION_TAG, PARTITION_TAG) if key in run.tags}


def _cause(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return the failed step's message without its stack; else Dagster's message for the run."""
    reason = "Dagster gives no reason"
    for each in instance.all_logs(run.run_id, of_type=_REASONS):
        event = each.get_dagster_event()
        if not event.is_step_failure:
            reason = event.message or reason
            continue
        data = event.step_failure_data
        if data.user_failure_data is not None and data.user_failure_data.description:
            return data.user_failure_data.description
        error = data.error
        while error is not None and error.cause is not None:
            error = error.cause
        if error is not None:
            return error.message.strip()
    return reason


def failures_in_a_row(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int:
    """Count the failures of this job for this application or flow that end with ``run``."""
    same = dg.RunsFilter(job_name=run.job_name, tags=_about(run))
    count, reached = 0, False
    for record in instance.get_run_records(same, limit=LOOK_BACK):  # newest first
        reached = reached or record.dagster_run.run_id == run.run_id
        if reached and record.dagster_run.status is not dg.DagsterRunStatus.FAILURE:
            break
        count += reached
    return max(count, 1)


def is_worth_an_alert(failures_in_a_row: int) -> bool:
    """Return True for failure 1, 2, 4, 8, …: a crash loop must not post thousands of times."""
    return failures_in_a_row > 0 and failures_in_a_row & (failures_in_a_row - 1) == 0
