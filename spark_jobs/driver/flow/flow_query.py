"""Starts, inspects and stops one flow's Spark query."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from spark_jobs.process.appdir import read_json
from spark_jobs.source.data_source import GRACE_S, options
from spark_jobs.source.unit_task import COPIER

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from replication.copier.spec import UnitSpec
    from spark_jobs.process.appdir import FlowDir

_COPIER = "spark.isthmus.copier"  # a test may set another copier
_FIGURES = "figures"
_LOOK_S = 1.0  # between calls to the JVM: each costs CPU time on both sides
_READ_ANYWAY_S = 10.0
_RETRY = "1 second"  # between epochs that end at once, because every unit was refused


class FlowQuery:
    """A running query. Its epochs are known from ``epoch.json`` and from Spark's progress."""

    def __init__(self, query: StreamingQuery, directory: FlowDir) -> None:
        self._query = query
        self._directory = directory
        self._batch = -1
        self._read_in: tuple[int, int] | None = None  # the epoch that ran when figures were read
        self._read_at = 0.0
        self._alive, self._alive_at = True, 0.0
        self._idle_at: float | None = None
        self.started = time.monotonic()

    def alive(self) -> bool:
        """Return whether it runs; the answer is at most a second old."""
        moment = time.monotonic()
        if self._alive and moment - self._alive_at >= _LOOK_S:
            self._alive, self._alive_at = bool(self._query.isActive), moment
        return self._alive

    def problem(self) -> str:
        """Return in one line why it ended."""
        error = self._query.exception()
        return first_line(error) if error is not None else "Spark ended the query without an error"

    def epoch(self) -> tuple[int, int] | None:
        """Return the epoch that was planned last and the number of its plan."""
        content = read_json(self._directory.epoch)
        return (content["epoch"], content["plan"]) if content else None

    def idle(self) -> bool:
        """Return whether no epoch is running and no unit keeps copying after one.

        Most units have read the control record that ends the last epoch, and end with it. A unit
        whose epoch ended just before ends by itself after ``GRACE_S``. Also true of a query that
        has ended.
        """
        if not self.alive():
            return True
        if self._query.status["isTriggerActive"]:
            self._idle_at = None
            return False
        moment = time.monotonic()
        self._idle_at = self._idle_at or moment
        progress = self._query.lastProgress
        row = progress["observedMetrics"].get(_FIGURES) if progress is not None else None
        return row is None or not row["in_grace"] or moment - self._idle_at > GRACE_S

    def figures(self) -> dict[str, Any] | None:
        """Return the sums of the newest finished epoch, once.

        Spark reports an epoch before it plans the next one, so figures are read when the next one
        begins. No epoch follows the last one before a pause: they are also read every 10 s.
        """
        running, moment = self.epoch(), time.monotonic()
        if running == self._read_in and moment - self._read_at < _READ_ANYWAY_S:
            return None
        self._read_in, self._read_at = running, moment
        progress = self._query.lastProgress
        if progress is None or progress["batchId"] == self._batch:
            return None
        self._batch = progress["batchId"]
        row = progress["observedMetrics"].get(_FIGURES)
        return row.asDict() if row is not None and row["units"] else None

    def stop(self) -> None:
        """Stop it. Its tasks end cleanly only when it is idle."""
        self._query.stop()


def start_query(
    spark: SparkSession, directory: FlowDir, template: UnitSpec, units: int, checkpoint: Path
) -> FlowQuery:
    """Start copying one flow."""
    directory.epoch.unlink(missing_ok=True)
    cores = F.col("cpu_s") * 1000 / F.greatest(F.col("ended_ms") - F.col("started_ms"), F.lit(1))
    given = options(directory, template, units, spark.conf.get(_COPIER, COPIER) or COPIER)
    counted = (
        spark.readStream.format("isthmus")
        .options(**given)
        .load()
        .observe(
            _FIGURES,
            F.count("*").alias("units"),
            F.max("epoch").alias("epoch"),
            F.sum("records").alias("records"),
            F.sum("bytes").alias("bytes"),
            F.sum("cpu_s").alias("cpu_s"),
            F.round(F.sum(cores), 2).alias("cores"),
            F.round(F.max(cores), 2).alias("busiest_core"),
            F.sum("takeovers").alias("takeovers"),
            F.sum("not_running").alias("not_running"),
            F.sum("at_least_once").alias("at_least_once"),
            F.sum("source_throttled_ms").alias("source_throttled_ms"),
            F.sum("target_throttled_ms").alias("target_throttled_ms"),
            F.sum("backed_off_to").alias("backed_off_to"),
            F.sum("in_grace").alias("in_grace"),
            F.max(F.when(F.col("outcome") != "clean", F.col("outcome"))).alias("outcome"),
        )
    )
    query = (
        counted.writeStream.format("noop")
        .queryName(template.flow)
        .trigger(processingTime=_RETRY)
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    return FlowQuery(query, directory)


def slots(spark: SparkSession) -> int:
    """Return how many tasks Spark can run at the same time now."""
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no call for it
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def is_stopped(spark: SparkSession) -> bool:
    """Return whether Spark itself has stopped the application, as when its cluster is lost."""
    return bool(spark.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 - as in slots


def first_line(error: Exception) -> str:
    """Return what an operator can read of Spark's error, without its stack traces."""
    text = str(error).strip().partition("JVM stacktrace:")[0]
    before, trace, python = text.partition("Traceback (most recent call last):")
    if not trace:
        return before.partition("\n")[0]
    lines = [each for each in python.splitlines() if each.strip() and not each.startswith(" ")]
    return lines[0] if lines else before.strip()
