"""The sensor that sends alerts: incidents that begin or end, and runs that failed."""

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg

from orchestration.alerts import outbox
from orchestration.alerts.alert import PROBLEM, RUN_FAILED
from orchestration.alerts.channels import channels
from orchestration.alerts.conditions import Condition, condition_of
from orchestration.alerts.incidents import incidents
from orchestration.alerts.transitions import AlertMemory, transitions
from orchestration.dagster.assets import stream_key
from orchestration.dagster.check_history import last_result
from orchestration.dagster.check_results import checks_of
from orchestration.dagster.failed_runs import failed_runs
from orchestration.dagster.resources import IsthmusResource
from replication.clock import now_ms
from replication.settings.config import Config
from replication.settings.flow_settings import Flow
from replication.supervision.driver_supervision import applications


@dg.sensor(minimum_interval_seconds=10, default_status=dg.DefaultSensorStatus.RUNNING)
def alert_on_checks(
    context: dg.SensorEvaluationContext, isthmus: IsthmusResource
) -> dg.SensorResult:
    """Alert once when something begins to be wrong and once when it is well again.

    What a channel does not accept waits in the cursor, and is posted later.
    """
    stored, now = _parse(context.cursor), now_ms()
    reading = isthmus.reading()
    config = reading.config
    found = conditions(context.instance, isthmus, config)
    current = incidents(found, reading.problem, now)
    states = {each.flow: f"{each.state}: {each.reason}" for each in found}
    base, memory = config.alerts.runbooks, AlertMemory.parse(stored.get("memory"))
    flow_alerts, memory = transitions(current, states, memory, now, base)
    runs, after_s = failed_runs(context.instance, stored.get("runs", now / 1000), found, base)
    alerts = [*flow_alerts, *runs]
    for each in alerts:
        say = context.log.warning if each.kind in (PROBLEM, RUN_FAILED) else context.log.info
        say("alert: %s", each.text)
    waiting = outbox.parse(stored.get("waiting", []))
    waiting, problems = outbox.deliver(waiting, alerts, channels(config.alerts), now)
    for problem in problems:
        context.log.error(problem)
    cursor = {"memory": memory.dump(), "runs": after_s, "waiting": outbox.dump(waiting)}
    line = "; ".join([*(f"{e.subject} is {e.state}" for e in current.values()), *problems])
    return dg.SensorResult(skip_reason=line or "nothing is wrong", cursor=json.dumps(cursor))


def conditions(
    instance: dg.DagsterInstance, isthmus: IsthmusResource, config: Config
) -> list[Condition]:
    """Return the condition of each flow: its state now, and the checks that failed last."""
    apps = {name: app for app in applications(config) for name in app.flows}
    flows = [(each, apps[each.name]) for each in config.flows]
    looks = isthmus.recent_looks(flows)
    return [
        condition_of(flow, app.name, look, _failed(instance, flow))
        for (flow, app), look in zip(flows, looks, strict=True)
    ]


def _failed(instance: dg.DagsterInstance, flow: Flow) -> Mapping[str, str]:
    """Return the checks of a flow whose latest result is a failure, with its description.

    The latest record of every check is read instead of the event stream: the stream's cursor does
    not work on sqlite.
    """
    found = {}
    for check in checks_of(flow):
        key = dg.AssetCheckKey(stream_key(flow.name), check)
        last = last_result(instance, key)
        if last and not last.evaluation.passed:
            found[check] = last.evaluation.description or check
    return found


def _parse(cursor: str | None) -> dict[str, Any]:
    """Return the cursor's content; an unreadable one, or one of an older release, is empty."""
    try:
        stored = json.loads(cursor or "{}")
    except ValueError:
        return {}
    return stored if isinstance(stored, dict) and "memory" in stored else {}
