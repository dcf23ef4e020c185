"""Dagster sensors that send alerts: on failed runs and on checks whose result changed."""

import json
from collections.abc import Iterable

import dagster as dg

from orchestration.dagster.alerts import Alert, is_worth_an_alert, send
from orchestration.dagster.assets import stream_key
from orchestration.dagster.reports import CHECKS
from orchestration.dagster.resources import IsthmusResource
from orchestration.dagster.sensors import APPLICATION_TAG
from orchestration.flows.observe import now_ms

LOOK_BACK = 64


@dg.run_failure_sensor(default_status=dg.DefaultSensorStatus.RUNNING)
def alert_on_failed_runs(context: dg.RunFailureSensorContext, isthmus: IsthmusResource) -> None:
    """Alert on the 1st, 2nd, 4th, 8th … consecutive failure of a job for an application."""
    run = context.dagster_run
    in_a_row = _failures_in_a_row(context.instance, run)
    if not is_worth_an_alert(in_a_row):
        return
    subject = run.tags.get(APPLICATION_TAG, run.job_name)
    times = "" if in_a_row == 1 else f" ({in_a_row} consecutive failures)"
    text = f"{run.job_name} for {subject}{times}: {_cause(context)}"
    webhook = isthmus.config().alerts.webhook_url
    send(Alert("run_failed", subject, text, now_ms()), context.log.error, webhook)


def _cause(context: dg.RunFailureSensorContext) -> str:
    """Return the failed step's message without its stack; else Dagster's message for the run."""
    for event in context.get_step_failure_events():
        data = event.step_failure_data
        if data.user_failure_data is not None and data.user_failure_data.description:
            return data.user_failure_data.description
        error = data.error
        while error is not None and error.cause is not None:
            error = error.cause
        if error is not None:
            return error.message.strip()
    return context.failure_event.message or "Dagster gives no reason"


def _failures_in_a_row(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int:
    """Count the failures of this job for this application that end with ``run``."""
    tag = run.tags.get(APPLICATION_TAG)
    same = dg.RunsFilter(job_name=run.job_name, tags={APPLICATION_TAG: tag} if tag else {})
    count, reached = 0, False
    for record in instance.get_run_records(same, limit=LOOK_BACK):  # newest first
        reached = reached or record.dagster_run.run_id == run.run_id
        if reached and record.dagster_run.status is not dg.DagsterRunStatus.FAILURE:
            break
        count += reached
    return max(count, 1)


@dg.sensor(minimum_interval_seconds=10, default_status=dg.DefaultSensorStatus.RUNNING)
def alert_on_checks(
    context: dg.SensorEvaluationContext, isthmus: IsthmusResource
) -> dg.SensorResult:
    """Alert once when a check fails and once when it passes again.

    A webhook that rejects the alert fails the tick; the cursor stays, so the next tick retries.
    """
    config = isthmus.config()
    flows = [each.name for each in config.flows]
    before: dict[str, bool] = json.loads(context.cursor or "{}")
    now, alerts = read_transitions(context.instance, flows, before)
    for each in alerts:
        send(each, context.log.warning, config.alerts.webhook_url)
    failing = [name for name, passed in now.items() if not passed]
    line = f"failed checks: {', '.join(failing)}" if failing else f"{len(now)} checks passed"
    return dg.SensorResult(skip_reason=line, cursor=json.dumps(now, sort_keys=True))


def read_transitions(
    instance: dg.DagsterInstance, flows: Iterable[str], before: dict[str, bool]
) -> tuple[dict[str, bool], list[Alert]]:
    """Return the latest results by ``flow check``, and an alert for each that changed.

    A first result is a change only if it is a failure. The latest record of every check is read
    instead of the event stream: the stream's cursor does not work on sqlite.
    """
    now, alerts = {}, []
    for flow in flows:
        for check in CHECKS:
            key = dg.AssetCheckKey(stream_key(flow), check)
            record = instance.get_latest_asset_check_evaluation_record(key)
            evaluation = record and record.evaluation
            if not evaluation:
                continue
            name = f"{flow} {check}"
            now[name] = evaluation.passed
            if evaluation.passed != before.get(name, True):
                kind = "check_passed" if evaluation.passed else "check_failed"
                text = f"{flow}: {check} {kind.removeprefix('check_')}: {evaluation.description}"
                alerts.append(Alert(kind, flow, text, now_ms()))
    return now, alerts
