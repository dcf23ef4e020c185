"""Builds the asset, job and schedule of each background task of a flow.

Tasks that run more often than once a minute are run by the Spark driver. They have an asset and a
job too, so that an operator can see and run them, but their schedule is stopped.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import dagster as dg

from orchestration.dagster.assets import slug, stream_key
from orchestration.dagster.jobs import RUN_TAGS
from orchestration.dagster.resources import IsthmusResource
from replication.client.admin import Clients
from replication.durations import format_duration
from replication.errors import ReplicationError
from replication.model import Desired
from replication.settings.sections import Config, Flow
from replication.state import Intent, status_topic
from replication.supervision.task_schedule import cron, is_for_driver

TABLE_ROWS = 200  # more belong into `isthmus plan`; every row is an event in Dagster's database


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a task. ``rows`` form a table; the run fails when there is a ``failure``."""

    summary: str
    rows: tuple[Mapping[str, str], ...] = ()
    failures: tuple[str, ...] = ()
    facts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlowTask:
    """One task of one flow. ``name`` is part of an asset's key and of a job's name: ``a_b``."""

    name: str
    description: str
    every: timedelta
    do: Callable[[Config, Flow, Clients], Report]  # raises ReplicationError
    enabled: bool = True
    by_driver: bool = False  # at any interval

    @property
    def is_the_drivers(self) -> bool:
        return self.by_driver or is_for_driver(self.every)


def build_task_asset(flow: Flow, task: FlowTask) -> dg.Definitions:
    """Return the asset, the job and the schedule of a task."""
    made = _asset(flow, task)
    job = dg.define_asset_job(
        f"{task.name}_{slug(flow.name)}",
        selection=dg.AssetSelection.assets(made),
        description=f"{flow.name}: {task.description}",
        executor_def=dg.in_process_executor,
        tags=RUN_TAGS,
    )
    runs = task.enabled and not task.is_the_drivers
    schedule = dg.ScheduleDefinition(
        name=f"{task.name}_{slug(flow.name)}_schedule",
        job=job,
        cron_schedule=cron(task.every),
        description=_when(task),
        default_status=dg.DefaultScheduleStatus.RUNNING
        if runs
        else dg.DefaultScheduleStatus.STOPPED,
    )
    return dg.Definitions(assets=[made], jobs=[job], schedules=[schedule])


def build_task_assets(pairs: Iterable[tuple[Flow, FlowTask]]) -> dg.Definitions:
    """Return the definitions of all tasks of all flows."""
    return dg.Definitions.merge(*(build_task_asset(flow, task) for flow, task in pairs))


def task_key(flow: str, task: str) -> dg.AssetKey:
    return dg.AssetKey(["replication", slug(flow), task])


def _when(task: FlowTask) -> str:
    every = format_duration(task.every)
    if not task.enabled:
        return "Disabled in the configuration file; a manual run does it once."
    if task.is_the_drivers:
        return f"The Spark driver does it every {every}; a manual run does it at once."
    return f"Every {every}, or the cron interval nearest to it."


def _asset(flow: Flow, task: FlowTask) -> dg.AssetsDefinition:
    @dg.asset(
        key=task_key(flow.name, task.name),
        deps=[stream_key(flow.name)],
        group_name=slug(flow.name),
        kinds={"kafka"},
        description=f"{task.description} {_when(task)}",
        tags={"replication/flow": slug(flow.name)},
    )
    def made(
        context: dg.AssetExecutionContext, isthmus: IsthmusResource
    ) -> dg.MaterializeResult[None]:
        config = isthmus.config()
        report = perform(task, config, config.flow(flow.name), isthmus.task_clients())
        context.log.info("%s: %s", flow.name, report.summary)
        if report.failures:
            problem = f"{flow.name}: {'; '.join(report.failures)}"
            raise dg.Failure(problem, metadata=metadata(report), allow_retries=False)
        return dg.MaterializeResult(metadata=metadata(report))

    return made


def perform(task: FlowTask, config: Config, flow: Flow, clients: Clients) -> Report:
    """Run a task, unless the flow is paused or stopped: then nothing is changed."""
    try:
        desired = _desired(flow, clients)
        if desired is not Desired.RUN:
            return Report(f"skipped: the desired state of the flow is {desired}")
        return task.do(config, flow, clients)
    except ReplicationError as error:
        return Report(str(error), failures=(str(error),))


def _desired(flow: Flow, clients: Clients) -> Desired:
    records = clients.store(flow).read(status_topic(flow.source))
    found = records.get(Intent(flow.name).key())
    return Desired(found.desired) if isinstance(found, Intent) else Desired.RUN


def metadata(report: Report) -> dict[str, dg.MetadataValue]:
    """Return the metadata on Dagster's page of a task: the summary, figures, and a table."""
    shown: dict[str, dg.MetadataValue] = {"summary": dg.MetadataValue.text(report.summary)}
    shown |= {name: dg.MetadataValue.int(value) for name, value in report.facts.items()}
    if report.rows:
        records = [dg.TableRecord(dict(row)) for row in report.rows[:TABLE_ROWS]]
        columns = [dg.TableColumn(name, "string") for name in report.rows[0]]
        shown["plan"] = dg.MetadataValue.table(records, dg.TableSchema(columns=columns))
    return shown
