"""The Spark streaming source ``isthmus``: a micro-batch is an epoch, a task is a unit.

Three processes use this module. The *driver* (spark_jobs.replicate) plans the partitions to copy
and writes them to ``plan.json``. The *planner*, which Spark runs beside it as long as the query
runs, builds an epoch's tasks from that; it calls no cluster, so a cluster that hangs cannot delay
an epoch. The *tasks* copy, and each yields one row of figures::

    driver ──plan.json──▶ latestOffset, partitions ──tasks──▶ read: copies until the epoch ends
       ▲                         │                                   ▲
       └──────epoch.json─────────┘                                   │
       └───────────────── Control(end_epoch) on the target ──────────┘

Offsets are epoch numbers. Every query has a new checkpoint, because only the target knows where a
partition continues. Its epochs have higher numbers than those of the driver's former queries,
because a control record that ends one of those may be read again.
"""

from __future__ import annotations

from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from replication.adapters import unit_json
from replication.copier.spec import UnitReport, UnitSpec
from replication.copier.unit_assignment import plan_units
from spark_jobs.process.appdir import FlowDir, read_json, write_json
from spark_jobs.source.unit_task import COPIER, guarded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from replication.model import PartitionPlan

SCHEMA = (
    "unit int, epoch int, records long, bytes long, cpu_s double, started_ms long, ended_ms long, "
    "takeovers int, not_running int, outcome string, at_least_once int, "
    "source_throttled_ms long, target_throttled_ms long, backed_off_to long, in_grace int"
)
# Spark plans the next epoch in some 0.2 s; a unit that gets no further epoch ends cleanly.
GRACE_S = 3.0
# Spark redacts options of such a name in its logs and plans: it holds the clients' passwords.
TEMPLATE = "template.secret"
# What of a spec follows an edit of the file without another query.
_SETTINGS = ("copying", "policies", "target_is_replicated", "source_has_copies", "stamps")


class EpochSettings(NamedTuple):
    """What units follow from the next epoch on, beside their partitions."""

    spec: UnitSpec | None = None  # None: as the query was started
    limit: int = 0  # bytes a second of all units together; 0: none but that of the spec


_AS_STARTED = EpochSettings()


class UnitTask(InputPartition):
    """One task: the spec of its unit."""

    def __init__(self, spec: UnitSpec) -> None:
        super().__init__(None)
        self.spec = spec


class EpochReader(DataSourceStreamReader):
    """Plans epochs, and runs units: in different processes, on copies of this object."""

    def __init__(self, directory: Path, template: UnitSpec, units: int, copier: str) -> None:
        self._directory = FlowDir(directory)
        self._template = template
        self._units = units
        self._copier = copier
        self._epoch = template.epoch
        self._tasks: tuple[int, Sequence[UnitTask]] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"epoch": self._template.epoch}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override] # noqa: N802 - Spark's own
        """Return the next epoch, or the last one again while there is nothing to copy."""
        plan = read_json(self._directory.plan)
        if plan is not None and plan["run"] and plan["partitions"]:
            self._epoch += 1
        return {"epoch": self._epoch}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> Sequence[UnitTask]:
        """Return the tasks of the epoch and tell the driver which plan they follow."""
        epoch = end["epoch"]
        if self._tasks is None or self._tasks[0] != epoch:
            plan = read_json(self._directory.plan) or {"number": 0}
            template = with_settings(self._template, plan.get("settings"))
            template = with_limit(template, plan.get("limit", 0) // self._units)
            self._tasks = (epoch, self._plan(template, epoch, unit_json.partitions_of(plan)))
            write_json(self._directory.epoch, {"epoch": epoch, "plan": plan["number"]})
        return self._tasks[1]

    def read(self, partition: UnitTask) -> Iterator[tuple[Any, ...]]:  # type: ignore[override]
        """Copy until the epoch ends; yield the report."""
        yield astuple(guarded(partition.spec, self._copier))

    def commit(self, end: Mapping[str, int]) -> None:
        """Do nothing: positions are on the target."""

    def _plan(
        self, template: UnitSpec, epoch: int, partitions: Sequence[PartitionPlan]
    ) -> Sequence[UnitTask]:
        return [
            UnitTask(replace(template, unit=unit, epoch=epoch, partitions=mine))
            for unit, mine in plan_units(partitions, self._units)
        ]


class IsthmusSource(DataSource):
    """Registered with Spark under the name ``isthmus``."""

    @classmethod
    def name(cls) -> str:
        return "isthmus"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> EpochReader:  # noqa: N802 - Spark's name
        return EpochReader(
            Path(self.options["directory"]),
            unit_json.spec_of(self.options[TEMPLATE]),
            int(self.options["units"]),
            self.options["copier"],
        )


def options(
    directory: FlowDir, template: UnitSpec, units: int, copier: str = COPIER
) -> dict[str, str]:
    """Return the options under which the source copies like ``template``."""
    return {
        "directory": str(directory.root),
        TEMPLATE: unit_json.spec_text(template),
        "units": str(units),
        "copier": copier,
    }


def write_plan(
    directory: FlowDir,
    number: int,
    partitions: Sequence[PartitionPlan],
    *,
    run: bool,
    settings: EpochSettings = _AS_STARTED,
) -> None:
    """Write the plan of the next epoch for the planner; not ``run``: no epoch begins.

    The clients of the settings' spec, which may hold passwords, are not written.
    """
    content = {
        "number": number,
        "run": run,
        "limit": settings.limit,
        **unit_json.partition_table(partitions),
    }
    if settings.spec is not None:
        plain = replace(settings.spec, partitions=(), source={}, target={})
        content["settings"] = unit_json.spec_text(plain)
    write_json(directory.plan, content)


def with_settings(template: UnitSpec, text: str | None) -> UnitSpec:
    """Return ``template`` with the settings of a plan; what a query is started with stays."""
    if text is None:
        return template
    given = unit_json.spec_of(text)
    return replace(template, **{name: getattr(given, name) for name in _SETTINGS})


def with_limit(template: UnitSpec, limit: int) -> UnitSpec:
    """Return ``template`` with at most ``limit`` bytes a second for a unit; 0: as it is."""
    if not limit:
        return template
    copying = template.copying
    rate = min(filter(None, (copying.bytes_per_second, limit)))
    return replace(template, copying=replace(copying, bytes_per_second=rate))


def report_of(row: Mapping[str, Any]) -> UnitReport:
    """Return the report that a row of the source holds."""
    return UnitReport(**{each.name: row[each.name] for each in fields(UnitReport)})
