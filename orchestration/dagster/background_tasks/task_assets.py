"""The background tasks of a flow as assets: what each is, and what became of it.

Tasks that run more often than once a minute are run by the Spark driver. They have an asset too, so
that an operator can see and run them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import dagster as dg

from orchestration.dagster.assets import stream_key
from orchestration.dagster.resources import IsthmusResource
from orchestration.services.asset_names import slug
from replication.client.admin import Clients
from replication.durations import format_duration
from replication.errors import ReplicationError
from replication.model import Desired
from replication.settings.config import Config
from replication.settings.flow_settings import Flow
from replication.state import Intent, status_topic
from replication.supervision.task_schedule import is_for_driver

TABLE_ROWS = 200  # more belong into `isthmus plan`; every row is an event in Dagster's database


@dataclass(frozen=True, slots=True)
class TaskRunReport:
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
    do: Callable[[Config, Flow, Clients], TaskRunReport]  # raises ReplicationError
    # Plans: returns the changes that ``do`` would make, and makes none. None: that is not known.
    pending: Callable[[Config, Flow, Clients], Sequence[str]] | None = None
    enabled: bool = True
    by_driver: bool = False  # at any interval

    @property
    def is_the_drivers(self) -> bool:
        return self.by_driver or is_for_driver(self.every)


def task_key(flow: str, task: str) -> dg.AssetKey:
    return dg.AssetKey(["replication", slug(flow), task])


def when(task: FlowTask) -> str:
    every = format_duration(task.every)
    if not task.enabled:
        return "Disabled in the configuration file; a manual run does it once."
    if task.is_the_drivers:
        return f"The Spark driver does it every {every}; a manual run does it at once."
    return f"Every {every}, or the cron interval nearest to it."


def build_task_asset(flow: Flow, task: FlowTask) -> dg.AssetsDefinition:
    """Return the asset of a task; a person may materialize it at any time."""

    @dg.asset(
        key=task_key(flow.name, task.name),
        deps=[stream_key(flow.name)],
        kinds={"kafka"},
        description=f"{task.description} {when(task)}",
        group_name=slug(flow.name),
        owners=list(flow.owners),
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


def perform(task: FlowTask, config: Config, flow: Flow, clients: Clients) -> TaskRunReport:
    """Run a task, unless the flow is paused or stopped: then nothing is changed."""
    try:
        desired = desired_state(flow, clients)
        if desired is not Desired.RUN:
            return TaskRunReport(f"skipped: the desired state of the flow is {desired}")
        return task.do(config, flow, clients)
    except ReplicationError as error:
        return TaskRunReport(str(error), failures=(str(error),))


def desired_state(flow: Flow, clients: Clients) -> Desired:
    """Return the desired state of a flow, as its target has it. Raises ClusterUnavailable."""
    records = clients.store(flow).read(status_topic(flow.source))
    found = records.get(Intent(flow.name).key())
    return Desired(found.desired) if isinstance(found, Intent) else Desired.RUN


def metadata(report: TaskRunReport) -> dict[str, dg.MetadataValue]:
    """Return the metadata on Dagster's page of a task: the summary, figures, and a table."""
    shown: dict[str, dg.MetadataValue] = {"summary": dg.MetadataValue.text(report.summary)}
    shown |= {name: dg.MetadataValue.int(value) for name, value in report.facts.items()}
    if report.rows:
        records = [dg.TableRecord(dict(row)) for row in report.rows[:TABLE_ROWS]]
        columns = [dg.TableColumn(name, "string") for name in report.rows[0]]
        shown["plan"] = dg.MetadataValue.table(records, dg.TableSchema(columns=columns))
    return shown
