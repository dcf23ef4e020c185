"""Write the archive of a driver's Java classes before the first driver starts.

``python -m spark_jobs.driver.class_archive``.

`make setup` writes it. A driver that does not find it starts all the same, in twice the time, and
writes it itself.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.copier.spec import UnitReport, UnitSpec
from replication.errors import EnvironmentProblem
from replication.model import PartitionPlan, TopicPartition
from replication.settings.copy_settings import CopySettings
from replication.settings.file_settings import SparkSettings
from spark_jobs.driver.flow.flow_query import start_query
from spark_jobs.process.appdir import FlowDir
from spark_jobs.process.jvm import archive_path, launch
from spark_jobs.process.spark_session import spark_conf, start_session, warm_workers
from spark_jobs.source.data_source import IsthmusSource, write_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from spark_jobs.driver.flow.flow_query import FlowQuery

_EPOCHS = 3
_LIMIT_S = 120.0
_NO_UNIT = UnitSpec(
    flow="none->none",
    source_alias="none",
    target_alias="none",
    unit=0,
    generation=1,
    epoch=0,
    partitions=(),
    source={},
    target={},
    copying=CopySettings(epoch=timedelta(seconds=1)),
)


def write_archive() -> None:
    """Write the archive unless it is there. Raises EnvironmentProblem."""
    archive = archive_path()
    if archive is None or archive.exists():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="isthmus-") as directory,
        tempfile.TemporaryDirectory(prefix=".classes-", dir=archive.parent) as beside,
    ):
        part = Path(beside) / archive.name
        conf = {
            **spark_conf(SparkSettings(), units=1),
            "spark.local.dir": directory,
            "spark.isthmus.copier": "spark_jobs.driver.class_archive:copy_nothing",
        }
        jvm = launch(conf, Path(directory) / "log4j2.properties", archive_at_exit=part)
        try:
            jvm.connect()
            spark = start_session(conf)
            _run_epochs(spark, FlowDir(Path(directory) / "flow"))
            jvm.stop(_LIMIT_S)
        finally:
            jvm.kill()
        if part.exists():
            part.replace(archive)


def _run_epochs(spark: SparkSession, directory: FlowDir) -> None:
    """Let Spark load what a driver needs, by a flow that copies nothing."""
    warm_workers(spark)
    spark.dataSource.register(IsthmusSource)
    nothing = TopicPartition("none", 0)
    write_plan(directory, 1, [PartitionPlan(nothing, nothing)], run=True)
    query = start_query(spark, directory, _NO_UNIT, 1, directory.fresh_checkpoint(1, 1))
    _wait(query, lambda: (query.epoch() or (0, 0))[0] > _EPOCHS and query.figures() is not None)
    write_plan(directory, 2, [PartitionPlan(nothing, nothing)], run=False)
    _wait(query, query.idle)
    query.stop()


def _wait(query: FlowQuery, done: Callable[[], bool]) -> None:
    """Wait for it. Raises EnvironmentProblem: it takes too long, or the query ended."""
    deadline = time.monotonic() + _LIMIT_S
    while not done():
        if not query.alive():
            raise EnvironmentProblem(f"Spark's query ended: {query.problem()}")
        if time.monotonic() > deadline:
            raise EnvironmentProblem(f"Spark ran no {_EPOCHS} epochs within {_LIMIT_S:.0f} s")
        time.sleep(0.1)


def copy_nothing(spec: UnitSpec) -> UnitReport:
    """Do in a worker what a unit does that finds nothing to copy."""
    started_ms = now_ms()
    time.sleep(spec.epoch_s)
    return UnitReport(
        unit=spec.unit,
        epoch=spec.epoch,
        records=0,
        bytes=0,
        cpu_s=0.0,
        started_ms=started_ms,
        ended_ms=now_ms(),
        takeovers=0,
        not_running=0,
        outcome="clean",
    )


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # py4j logs with a stack trace that the JVM has ended
    try:
        write_archive()
    except (EnvironmentProblem, ConnectionError) as error:
        sys.stderr.write(f"no class archive for drivers, the first one starts slower: {error}\n")
