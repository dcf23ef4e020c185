"""Dagster jobs of the supervisor: start or stop an application, delete old runs.

None of them copies anything. A copy is a detached process; the run that launched it ends as soon
as the flows report their status, or fails with the reason why they do not.
"""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import dagster as dg
from pydantic import Field

from orchestration.dagster.resources import Isthmus, IsthmusResource
from replication.adapters.local.processes import Process
from replication.errors import ConfigError
from replication.model import Desired
from replication.state import FlowStatus
from replication.supervision.driver_supervision import Application, applications

GATE_S = 90.0  # a cold JVM on a busy machine takes 20 s; a flow not up by then is not coming up
RUN_TAGS = {"dagster/max_runtime": "180"}  # else a run whose worker died stays STARTED forever
LOG_TAIL_BYTES = 2000
APPLICATION_TAG = "replication/application"  # of a run that starts or stops one
PARTITION_TAG = "dagster/partition"  # of a run of a job about one flow: the flow
FLOW_TAG = "replication/flow"  # of the assets and tasks of a flow: its slug


class WhichApplication(dg.Config):
    application: str = Field(
        default="",  # no error when the launchpad opens; the run then names those that there are
        description="Name of the Spark application: that of its target cluster or of its flow.",
    )
    restart: bool = Field(default=False, description="Stop its remaining processes first.")


class WhichRuns(dg.Config):
    days: int = Field(
        default=14, ge=1, description="Delete finished runs that are older than this many days."
    )


@dg.op
def launch(
    context: dg.OpExecutionContext, config: WhichApplication, isthmus: IsthmusResource
) -> None:
    """Start a Spark application and wait until each of its flows reports its status."""
    app = _application(isthmus, config.application)
    start_application(context, isthmus, app, restart=config.restart)


def start_application(
    context: dg.OpExecutionContext, isthmus: Isthmus, app: Application, *, restart: bool
) -> None:
    """Start an application; with ``restart``, stop it first. Raises Failure with the reason."""
    launcher = isthmus.launcher()
    with launcher.acting(app):
        if restart:
            launcher.stop(app)
        before = _statuses(isthmus, app)
        process = launcher.start(app)
        context.log.info("application %s: watcher started, process %s", app.name, process.pid)
        _await_statuses(isthmus, app, before, process)
    context.log.info(
        "application %s: all its flows report their status: %s", app.name, ", ".join(before)
    )
    context.add_output_metadata({"changed": f"application {app.name} started: {', '.join(before)}"})


@dg.op
def halt(
    context: dg.OpExecutionContext, config: WhichApplication, isthmus: IsthmusResource
) -> None:
    """Stop a Spark application; processes that do not exit in time are killed."""
    app, launcher = _application(isthmus, config.application), isthmus.launcher()
    with launcher.acting(app):
        launcher.stop(app)
    context.log.info("application %s stopped", app.name)
    context.add_output_metadata({"changed": f"application {app.name} stopped"})


@dg.op
def delete_old_runs(context: dg.OpExecutionContext, config: WhichRuns) -> None:
    """Delete finished runs, oldest first, at most 1,000 a time.

    Asset events that the supervisor stored belong to no run; Dagster cannot delete those.
    """
    before = datetime.now(UTC) - timedelta(days=config.days)
    finished = dg.RunsFilter(
        statuses=[
            dg.DagsterRunStatus.SUCCESS,
            dg.DagsterRunStatus.FAILURE,
            dg.DagsterRunStatus.CANCELED,
        ],
        created_before=before,
    )
    records = context.instance.get_run_records(finished, limit=1000, ascending=True)
    for each in records:
        context.instance.delete_run(each.dagster_run.run_id)
    text = f"deleted {len(records)} runs that were created before {before:%Y-%m-%d}"
    context.log.info(text)
    context.add_output_metadata({"changed": text})


def _job(name: str, op: dg.OpDefinition, description: str) -> dg.JobDefinition:
    """Return a job of one op, executed in its run's process: half the memory, no second start."""
    graph = dg.GraphDefinition(name, node_defs=[op], description=description)
    return graph.to_job(executor_def=dg.in_process_executor, tags=RUN_TAGS)


launch_flow = _job(
    "launch_flow", launch, "Start a Spark application and wait until its flows report."
)
stop_application = _job("stop_application", halt, "Stop a Spark application.")
prune_history = _job("prune_history", delete_old_runs, "Delete old runs from Dagster's history.")

ALL = [launch_flow, stop_application, prune_history]


def _application(isthmus: Isthmus, name: str) -> Application:
    apps = applications(isthmus.config())
    for each in apps:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in apps)
    raise ConfigError(f"{isthmus.config_path}: no application {name!r}; there is {known}")


def _statuses(isthmus: Isthmus, app: Application) -> dict[str, FlowStatus | None]:
    """Return the last status of each flow that should not stop; None: none is known."""
    config = isthmus.config()
    looks = isthmus.look([(config.flow(name), app) for name in app.flows])
    return {
        name: look.seen.status if look else None
        for name, look in zip(app.flows, looks, strict=True)
        if look is None or look.seen.desired is not Desired.STOP
    }


def _await_statuses(
    isthmus: Isthmus, app: Application, before: Mapping[str, FlowStatus | None], process: Process
) -> None:
    """Wait until each flow writes a new status. Raises Failure when it does not."""
    deadline = time.monotonic() + GATE_S
    while not all(
        _is_new(status, before.get(flow)) for flow, status in _statuses(isthmus, app).items()
    ):
        if not process.alive() or time.monotonic() > deadline:
            raise dg.Failure(_reason(isthmus, app, alive=process.alive()), allow_retries=False)
        time.sleep(0.5)


def _is_new(status: FlowStatus | None, before: FlowStatus | None) -> bool:
    """Say whether a status was written since. Its time may be lower: of a clock that was set."""
    if status is None or before is None:
        return status is not None
    return (status.instance, status.beat_ms) != (before.instance, before.beat_ms)


def _reason(isthmus: Isthmus, app: Application, *, alive: bool) -> str:
    """Return why the application did not start, with the end of its log."""
    log = isthmus.launcher().state_directory.app(app.name) / "driver.log"
    what = f"its flows reported no status within {GATE_S:.0f} s" if alive else "its watcher exited"
    tail = log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace") if log.exists() else ""
    return f"starting application {app.name}: {what}. The end of {log}:\n{tail}"
