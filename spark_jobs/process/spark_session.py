"""Spark's settings for a driver, and the SparkSession built from them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.errors import ReplicationError
from spark_jobs.process.jvm_environment import log_in, python_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

    from replication.settings.file_settings import SparkSettings

_ALL_CORES = re.compile(r"local(\[\*\])?")
_TRIES = 4  # of a task: a unit whose worker was killed continues without a new query
_OURS = {
    "spark.app.name": "isthmus",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "1",
    # An epoch is one tiny row a task: generating and compiling Java for it takes longer.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.numRecentProgressUpdates": "4",
    # Without libhadoop, Hadoop's own file system starts two processes for every file it writes.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.permissions.umask-mode": "077",  # Hadoop takes no notice of the process's
    "spark.python.daemon.module": "spark_jobs.source.worker_daemon",
    # Never two tasks for a unit at a time; after a lost worker the same epoch is tried again.
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}
KUBERNETES = "k8s://"  # of a master
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_conf(settings: SparkSettings, units: int, cores: int | None = None) -> dict[str, str]:
    """Return all Spark settings for an application of so many units. Pure but for ``cores``.

    A user's setting takes precedence. A unit holds its slot for a whole epoch, so ``local[*]`` has
    at least as many slots as units, however few cores there are.
    """
    master = settings.master
    if _ALL_CORES.fullmatch(master):
        master = f"local[{max(cores or os.cpu_count() or 1, units)},{_TRIES}]"
    pods = {"spark.executor.instances": str(units), "spark.executor.cores": "1"}
    remote = {
        "spark.executorEnv.PYTHONPATH": python_path(),
        "spark.pyspark.python": sys.executable,
        **(pods if master.startswith(KUBERNETES) else {"spark.cores.max": str(units)}),
    }
    place = _LOCAL if master.startswith("local") else remote
    return {**_OURS, **place, "spark.master": master, **settings.conf}


def reaches_running_units(conf: Mapping[str, str]) -> bool:
    """Return whether the next task of a unit can reach the process that copies for the unit.

    On a cluster the task may run on another machine: there each epoch ends before the next begins.
    """
    reuses = conf.get("spark.python.worker.reuse", "true") == "true"
    return reuses and conf["spark.master"].startswith("local") and sys.platform == "linux"


def start_session(conf: Mapping[str, str]) -> SparkSession:
    """Build the session in the JVM that :mod:`spark_jobs.process.jvm` has started.

    Raises ReplicationError: Spark refuses the settings, or its cluster or a directory is missing.
    """
    from pyspark import SparkContext  # noqa: PLC0415 - imported while the JVM is starting
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    SparkContext._ensure_initialized()  # noqa: SLF001 - connects to the JVM before Spark begins
    log_in(SparkContext._gateway)  # noqa: SLF001 - as above
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    return built(builder.getOrCreate)


def built(build: Callable[[], SparkSession]) -> SparkSession:
    """Return the session that ``build`` returns. Raises as ``start_session``."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - imported while the JVM is starting

    try:
        spark = build()
    except Py4JJavaError as error:
        raise ReplicationError(
            f"starting Spark: {java_problem(error)}; check spark.master and spark.conf.* of the "
            "file"
        ) from None
    _hush(spark.sparkContext._accumulatorServer)  # noqa: SLF001 - see there
    return spark


def java_problem(error: Exception) -> str:
    """Return the Java exception and its message, without the stack trace."""
    lines = [each.strip(": ") for each in str(error).splitlines() if each.startswith(":")]
    return lines[0] if lines else str(error).partition("\n")[0]


def block_directories(conf: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the directories of a running Spark's blocks: without them every task fails."""
    return tuple(Path(conf.get("spark.local.dir", "")).glob("blockmgr-*"))


def _hush(server: Any) -> None:
    """Keep PySpark's socket server from printing a stack trace when the JVM is killed.

    The driver itself detects that and logs one line.
    """
    server.handle_error = lambda *_: None


def warm_workers(spark: SparkSession) -> None:
    """Start the daemon that forks Spark's Python workers, while the first query is planned."""
    spark.range(1, numPartitions=1).mapInArrow(_same, "id long").collect()


def _same(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    return batches
