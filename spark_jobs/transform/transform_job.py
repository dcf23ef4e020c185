"""The Spark job of one batch: one task per slot, which reports in one row what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from replication.errors import ConfigError
from replication.transforms.smt.chain import Chain
from spark_jobs.transform.batch_clock import time_limit
from spark_jobs.transform.columns.record_columns import rows_ddl
from spark_jobs.transform.single_record import transform_by_sql
from spark_jobs.transform.sql_plan import SqlPlan, sql_plan, sql_session
from spark_jobs.transform.task.batch_work import PROPERTY, property_of
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.sql_tasks import read_slots, write_slots
from spark_jobs.transform.task.tasks import REPORT_DDL, transform_slots
from spark_jobs.transform.task.user_function import load_function
from spark_jobs.transform.task.work import SlotReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.task.work import RangeWork, SlotWork, TaskClusters

# Spark measures each Arrow batch after each row, unless this is the largest number that it knows:
# that took more time than a filter.
_MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_PASSED = "SQL failed on it, and not when it was tried again"
_REST_S = 60.0  # of a batch beside its expressions: reading, writing, Spark's own


class TransformJob:
    """Runs the batches of one transform in their own job group."""

    def __init__(self, spark: SparkSession, transform: TopicTransform, group: str) -> None:
        self._spark = sql_session(spark) if transform.is_sql else spark
        self._transform = transform
        self._group = group
        self._sql: SqlPlan
        self._plans: dict[int, DataFrame] = {}  # by the count of slots, for these clusters
        self._clusters: TaskClusters | None = None
        self._is_checked = False

    def check(self) -> None:
        """Check once what can be checked before a record is read. Raises ConfigError."""
        if self._is_checked:
            return
        if self._transform.is_sql:
            self._sql = sql_plan(self._spark, self._transform)
            if self._sql.is_small:
                self._spark.conf.set(_MOST_BYTES, str((1 << 31) - 1))
        elif self._transform.function is not None:
            self._check_function()
        else:
            Chain(self._transform)
        self._is_checked = True

    def run(self, work: Sequence[SlotWork]) -> list[SlotReport]:
        """Run a batch; return the report of each slot, in their order.

        Raises JobTooSlow, ClusterUnavailable if Spark runs no task of it, and PySparkException: of
        SQL's data errors too.
        """
        reports = self._collected(self._planned(work[0].clusters, len(work)), property_of(work))
        found = {slot: SlotReport.of(report) for slot, report in reports}
        return [found[number] for number in range(len(work))]

    def _planned(self, clusters: TaskClusters, count: int) -> DataFrame:
        """Return the plan of a batch of so many slots, the same for one batch as for the next."""
        if self._clusters != clusters:
            self._clusters, self._plans = clusters, {}
        if count not in self._plans:
            self._plans[count] = self._plan(clusters, self._spark.range(0, count, 1, count))
        return self._plans[count]

    def _plan(self, clusters: TaskClusters, slots: DataFrame) -> DataFrame:
        if not self._transform.is_sql:
            return slots.mapInArrow(transform_slots(clusters), REPORT_DDL)
        inputs = self._sql.inputs
        records = slots.mapInArrow(read_slots(clusters, inputs, self._sql.kinds), rows_ddl(inputs))
        return self._sql.results(records).mapInArrow(write_slots(clusters), REPORT_DDL)

    def reason(self, slot: SlotWork, work: RangeWork, record: DecodedRecords) -> str:
        """Return why SQL fails on a record of a range of a slot. Raises ReplicationError."""
        outcome = RangeOutcome(slot, work)
        transform_by_sql(self._spark, self._sql, outcome, record)
        return outcome.problem or _PASSED

    def _collected(self, done: DataFrame, work: str) -> list[tuple[int, str]]:
        context = self._spark.sparkContext
        context.setLocalProperty(PROPERTY, work)
        context.setJobGroup(self._group, self._group, interruptOnCancel=True)
        limit_s = self._transform.timeout.total_seconds() + _REST_S
        try:
            with time_limit(context, self._group, limit_s):
                return [(row["slot"], row["report"]) for row in done.collect()]
        finally:
            context.setLocalProperty(PROPERTY, "")

    def _check_function(self) -> None:
        """Load the function in a task: there it runs, and a time-out needs a main thread."""
        found = self._spark.range(1, numPartitions=1)
        for row in found.mapInArrow(_checked(self._transform), "problem string").collect():
            if row["problem"]:
                raise ConfigError(row["problem"])


def _checked(
    transform: TopicTransform,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            problem = ""
            try:
                load_function(transform)
            except ConfigError as error:
                problem = str(error)
            yield pa.RecordBatch.from_pydict({"problem": [problem]})

    return check
