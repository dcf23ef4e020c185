"""The supervisor sensor: reads all flows, reports on them, starts and stops applications."""

import contextlib
import json
import socket
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import dagster as dg

from orchestration.dagster.assets import configuration_metadata, stream_key, topic_partitions
from orchestration.dagster.background_tasks.task_list import DRIVER_TASKS
from orchestration.dagster.jobs import APPLICATION_TAG, launch_flow, stop_application
from orchestration.dagster.lineage import named_topics
from orchestration.dagster.observations.flow_events import FlowAssets, ReportedFlow, flow_events
from orchestration.dagster.observations.topic_events import Requests, refreshing
from orchestration.dagster.report_events import Event, LastReported, events_of
from orchestration.dagster.reports import FlowReport, build_report
from orchestration.dagster.resources import Isthmus, IsthmusResource
from orchestration.flows.observation.clients import Processes
from orchestration.flows.observation.flow_look import FlowLook
from orchestration.services.asset_names import slug
from orchestration.services.launcher import Launcher
from replication.adapters.followed_file import FileInForce
from replication.clock import now_ms
from replication.settings.config import Config
from replication.supervision.driver_supervision import (
    Application,
    Decision,
    Launch,
    Observed,
    Stop,
    SupervisionMemory,
    applications,
    decide,
)

FORGOTTEN_S = 240  # a run that is still "active" after this lost its worker: max_runtime ends it
ACTS_WITHIN_S = {  # until a run's process visibly acts, on a busy machine
    dg.DagsterRunStatus.STARTING: 60.0,
    dg.DagsterRunStatus.STARTED: 20.0,
    dg.DagsterRunStatus.CANCELING: 20.0,
}
Partitions = Callable[[str], Collection[str]]
ACTIVE = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dg.sensor(
    jobs=[launch_flow, stop_application],
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def supervisor(context: dg.SensorEvaluationContext, isthmus: IsthmusResource) -> dg.SensorResult:
    """Start and stop Spark applications as desired; report lag, throughput and health of flows."""
    busy = launching(context.instance, isthmus)
    result = supervise(isthmus, busy, context.cursor, context.instance.get_dynamic_partitions)
    for request in result.run_requests or []:
        context.log.info("requesting a run of %s: %s", request.job_name, request.run_key)
    return result


def launching(instance: dg.DagsterInstance, isthmus: Isthmus) -> frozenset[str]:
    """Return the tags of the applications that a run is working on.

    A run whose process is gone, as after a power cut, is ended here: it would delay its
    application, and all queued runs, for minutes.
    """
    here, busy = isthmus.launcher(), set()
    active = instance.get_run_records(dg.RunsFilter(statuses=ACTIVE), limit=200)
    apps = {slug(each.name): each for each in applications(isthmus.config())} if active else {}
    since = time.time() - FORGOTTEN_S
    for each in active:
        tag = each.dagster_run.tags.get(APPLICATION_TAG)
        if tag in apps and _is_dead(each, apps[tag], here, instance):
            instance.report_run_failed(
                each.dagster_run, "The process of this run no longer exists."
            )
        elif tag is not None and each.create_timestamp.timestamp() > since:
            busy.add(tag)
    return frozenset(busy)


def _is_dead(
    record: dg.RunRecord, app: Application, here: Launcher, instance: dg.DagsterInstance
) -> bool:
    """Return whether a run's process is gone: too long in its state without acting.

    A run that has acted takes a while to be marked as ended.
    """
    run = record.dagster_run
    limit_s = ACTS_WITHIN_S.get(run.status)
    if limit_s is None or _is_younger(record.update_timestamp.timestamp(), limit_s):
        return False
    if here.is_acted_on(app) or _is_younger(here.acted_at(app), limit_s):  # in this order
        return False
    again = instance.get_run_by_id(run.run_id)
    return again is not None and again.status == run.status


def _is_younger(at: float, limit_s: float) -> bool:
    return time.time() - at <= limit_s


def supervise(
    isthmus: Isthmus, busy: frozenset[str], cursor: str | None, partitions: Partitions
) -> dg.SensorResult:
    """Read the flows, decide, and return events and run requests. Outages are observations.

    ``partitions`` returns those that Dagster has of a definition.
    """
    reported, memory = _parse(cursor)
    observed_before = _parse_memories(cursor)
    reading = isthmus.reading()
    config = reading.config
    apps = applications(config)
    flows = [(config.flow(name), app) for app in apps for name in app.flows]
    looks = {each.flow.name: each for each in isthmus.look(flows) if each is not None}
    states = {each.name: _observe(each, looks, isthmus.launcher(), busy) for each in apps}
    decisions, memory = decide(apps, states, memory, now_ms())
    reports = [
        build_report(look, isthmus.lag(look), reported.get(name, LastReported()).counters, reading)
        for name, look in looks.items()
    ]
    events, reported = _events(reports, reported)
    more, partition_requests, observed = _observations(reports, config, observed_before, partitions)
    events += more
    announced = "\n".join(config.warnings)
    if announced != _known(cursor, "announced", ""):
        events = [*_announcements(config), *events]
    edit = f"{reading.read_ms} {reading.problem}"
    if edit != _known(cursor, "edit", edit):
        events = [*_edits(reading), *events]
    requests = [_request(each) for each in decisions if isinstance(each, Launch | Stop)]
    dumped = {name: each.dump() for name, each in reported.items()}
    return dg.SensorResult(
        run_requests=requests,
        skip_reason=None if requests else _status_line(reports, decisions),
        cursor=json.dumps(
            {
                "told": dumped,
                "observed": {name: each.dump() for name, each in observed.items()},
                "memory": memory.dump(),
                "announced": announced,
                "edit": edit,
            }
        ),
        asset_events=events,
        dynamic_partitions_requests=partition_requests,
    )


def _parse(cursor: str | None) -> tuple[dict[str, LastReported], SupervisionMemory]:
    """Read the cursor; an unreadable one counts as empty."""
    try:
        stored = json.loads(cursor or "{}")
        reported = {name: LastReported.parse(each) for name, each in stored.get("told", {}).items()}
        return reported, SupervisionMemory.parse(stored.get("memory"), now_ms())
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}, SupervisionMemory.parse(None, now_ms())


def _parse_memories(cursor: str | None) -> dict[str, ReportedFlow]:
    """Read what was observed beside the streams; unreadable entries count as empty."""
    found = {}
    with contextlib.suppress(ValueError, AttributeError):
        for name, stored in json.loads(cursor or "{}").get("observed", {}).items():
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                found[name] = ReportedFlow.parse(stored)
    return found


def _known(cursor: str | None, name: str, default: str) -> str:
    """Return what was reported last; an unreadable cursor counts as empty."""
    try:
        return str(json.loads(cursor or "{}").get(name, default))
    except (ValueError, AttributeError):
        return default


def _edits(reading: FileInForce) -> list[Event]:
    """Return what an edit of the file changed, or what is wrong with it, on each flow's stream."""
    reason = reading.problem or "\n".join(reading.changes) or "as it was before"
    what = "the edited file is not in force" if reading.problem else "the file was edited"
    return [
        dg.AssetObservation(
            stream_key(each.name),
            description=f"{what}: {reason}",
            metadata=configuration_metadata(each, reading.config.warnings),
        )
        for each in reading.config.flows
    ]


def _announcements(config: Config) -> list[Event]:
    """Return the warnings about the file, with the effective patterns, on each flow's stream."""
    return [
        dg.AssetObservation(
            stream_key(each.name),
            description="\n".join(config.warnings) or "the file has no warnings any more",
            metadata=configuration_metadata(each, config.warnings),
        )
        for each in config.flows
    ]


def _observe(
    app: Application, looks: Mapping[str, FlowLook], here: Processes, busy: frozenset[str]
) -> Observed:
    found = [looks[name] for name in app.flows if name in looks]
    silence = next((each.seen.target_silence for each in found if each.seen.target_silence), None)
    if len(found) < len(app.flows) and silence is None:
        silence = f"target cluster {app.target} did not answer in time"
    return Observed(
        host=socket.gethostname(),
        watcher=here.watcher_alive(app),
        driver=here.driver_alive(app),
        silence=silence,
        statuses=tuple(each.seen.status for each in found if each.seen.status is not None),
        intents={each.flow.name: each.seen.desired for each in found},
        launching=slug(app.name) in busy,
    )


def _events(
    reports: list[FlowReport], reported: Mapping[str, LastReported]
) -> tuple[list[Event], dict[str, LastReported]]:
    """Return all events, and what is reported by then. A flow not seen keeps its entry."""
    events: list[Event] = []
    now = dict(reported)
    for report in reports:
        name = report.look.flow.name
        more, now[name] = events_of(report, reported.get(name, LastReported()))
        events += more
    return events, now


def _observations(
    reports: list[FlowReport],
    config: Config,
    before: Mapping[str, ReportedFlow],
    partitions: Partitions,
) -> tuple[list[Event], Requests, dict[str, ReportedFlow]]:
    """Return the events about topics and tasks, and what is known then. Flows not seen keep it."""
    events: list[Event] = []
    requests: Requests = []
    now = dict(before)
    for report in reports:
        now.setdefault(report.look.flow.name, ReportedFlow())
    turn = refreshing({name: each.topics for name, each in now.items()}, now_ms())
    for report in reports:
        flow = report.look.flow
        known = FlowAssets(
            partitions(topic_partitions(flow.name).name or ""),
            named_topics(flow, config.clusters),
            DRIVER_TASKS,
        )
        more, asked, now[flow.name] = flow_events(
            report, known, now[flow.name], may_refresh=flow.name == turn
        )
        events += more
        requests += asked
    return events, requests, now


def _request(decision: Launch | Stop) -> dg.RunRequest:
    name = decision.app.name
    config: dict[str, Any] = {"application": name}
    op, job = "halt", stop_application
    if isinstance(decision, Launch):
        op, job = "launch", launch_flow
        config["restart"] = decision.restart
    return dg.RunRequest(
        run_key=decision.run_key,
        job_name=job.name,
        run_config={"ops": {op: {"config": config}}},
        tags={APPLICATION_TAG: slug(name), "replication/reason": _as_tag(decision.reason)},
    )


def _as_tag(reason: str) -> str:
    """Return a sentence in the form of a tag: at most 63 letters, digits and underscores."""
    return "".join(each if each.isalnum() else "_" for each in reason)[:63].strip("_")


def _status_line(reports: list[FlowReport], decisions: tuple[Decision, ...]) -> str:
    """Return the text on the sensor's page for a tick that launched nothing."""
    lines = [each.line for each in reports]
    lines += [f"application {each.app.name}: {each.reason}" for each in decisions]
    return "; ".join(lines)
