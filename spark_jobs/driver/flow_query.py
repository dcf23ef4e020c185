"""One flow's streaming query: started, looked at, ended."""

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

_COPIER = "spark.isthmus.copier"  # a test may set another than the real one
_FIGURES = "figures"
_LOOK_S = 1.0  # between questions to the JVM: each costs CPU time on both sides
_ASK_ANYWAY_S = 10.0
_RETRY = "1 second"  # between epochs that end at once, because every unit was refused


class FlowQuery:
    """A running query. What it learns of its epochs comes from files and from Spark's progress."""

    def __init__(self, query: StreamingQuery, directory: FlowDir) -> None:
        self._query = query
        self._directory = directory
        self._batch = -1
        self._asked_for: tuple[int, int] | None = (
            None  # the epoch at whose beginning we asked for figures
        )
        self._asked_at = 0.0
        self._alive, self._alive_at = True, 0.0
        self._idle_at: float | None = None
        self.started = time.monotonic()

    def alive(self) -> bool:
        """Say whether it runs, as of a second ago at most."""
        moment = time.monotonic()
        if self._alive and moment - self._alive_at >= _LOOK_S:
            self._alive, self._alive_at = bool(self._query.isActive), moment
        return self._alive

    def problem(self) -> str:
        """Return in one line why it ended."""
        error = self._query.exception()
        return first_line(error) if error is not None else "the query was stopped"

    def epoch(self) -> tuple[int, int] | None:
        """Return the epoch that was planned last and the number of its plan."""
        told = read_json(self._directory.epoch)
        return (told["epoch"], told["plan"]) if told else None

    def idle(self) -> bool:
        """Say whether no epoch is running and no unit copies on after one.

        Units have heard, as a rule, that no epoch follows, and end with the last one. One whose
        epoch was over just then is given the time after which it ends by itself. Also true of a
        query that has ended.
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
        return row is None or not row["lingers"] or moment - self._idle_at > GRACE_S

    def figures(self) -> dict[str, Any] | None:
        """Return the sums of the newest finished epoch, once.

        Spark reports an epoch before it plans the next one: that is the time to ask. The last one
        before a pause has no next one, so now and then we ask without a reason.
        """
        running, moment = self.epoch(), time.monotonic()
        if running == self._asked_for and moment - self._asked_at < _ASK_ANYWAY_S:
            return None
        self._asked_for, self._asked_at = running, moment
        progress = self._query.lastProgress
        if progress is None or progress["batchId"] == self._batch:
            return None
        self._batch = progress["batchId"]
        row = progress["observedMetrics"].get(_FIGURES)
        return row.asDict() if row is not None and row["units"] else None

    def stop(self) -> None:
        """End it. Only when idle do its tasks end cleanly."""
        self._query.stop()


def start_query(
    spark: SparkSession, directory: FlowDir, template: UnitSpec, units: int, checkpoint: Path
) -> FlowQuery:
    """Start copying one flow."""
    directory.epoch.unlink(missing_ok=True)
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
            F.sum("takeovers").alias("takeovers"),
            F.sum("not_running").alias("not_running"),
            F.sum("at_least_once").alias("at_least_once"),
            F.sum("lingers").alias("lingers"),
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
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - Spark's Python has no question for it
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def is_stopped(spark: SparkSession) -> bool:
    """Say whether Spark has ended the application by itself, as a cluster does that is lost."""
    return bool(spark.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 - as in slots


def first_line(error: Exception) -> str:
    """Return what an operator can read of Spark's error, without its stack traces."""
    text = str(error).strip().partition("JVM stacktrace:")[0]
    before, trace, python = text.partition("Traceback (most recent call last):")
    if not trace:
        return before.partition("\n")[0]
    lines = [each for each in python.splitlines() if each.strip() and not each.startswith(" ")]
    return lines[0] if lines else before.strip()
