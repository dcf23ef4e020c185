"""Spark for a job that ends by itself: with a budget of its own, beside the streams.

It is an application of its own in the master that the file names. On this machine it also runs with
a lower priority than the streams.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.process.jvm import launch
from spark_jobs.process.jvm_environment import log_in
from spark_jobs.process.spark_session import KUBERNETES, spark_conf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.settings.file_settings import BoundedJobs, SparkSettings

_TRIES = 4  # of a task
_OURS = "replication.errors."  # in a stack trace
_NICER = 5  # so that a stream gets the CPU first


def bounded_conf(settings: SparkSettings, budget: BoundedJobs, name: str) -> dict[str, str]:
    """Return the Spark settings of a bounded job called ``name``.

    The budget takes precedence over what the file passes to the streams' applications.
    """
    conf = spark_conf(settings, budget.cores)
    del conf["spark.python.daemon.module"]  # of units, which keep copying after their task
    memory = f"{budget.memory_bytes >> 20}m"
    if conf["spark.master"].startswith("local"):
        conf["spark.master"] = f"local[{budget.cores},{_TRIES}]"
        conf["spark.driver.memory"] = memory
        return {**conf, "spark.app.name": name}
    conf["spark.executor.memory"] = memory
    if conf["spark.master"].startswith(KUBERNETES):
        conf["spark.executor.instances"] = "1"
        conf["spark.executor.cores"] = str(budget.cores)
    else:
        conf["spark.cores.max"] = str(budget.cores)
    return {**conf, "spark.app.name": name}


@contextmanager
def started_spark(conf: Mapping[str, str]) -> Iterator[None]:
    """Start a JVM with all of ``conf``; a SparkSession that is then built runs in it.

    Raises EnvironmentProblem where Java does not start.
    """
    from pyspark import SparkContext  # noqa: PLC0415 - 0.3 s, after the JVM has begun to start

    if conf["spark.master"].startswith("local"):
        os.nice(max(0, _NICER - os.nice(0)))
    with _environment(), tempfile.TemporaryDirectory(prefix="isthmus-job-") as scratch:
        whole = {**conf, "spark.local.dir": scratch}
        jvm = launch(whole, Path(scratch) / "log4j2.properties", early=whole)
        try:
            jvm.connect()
            SparkContext._ensure_initialized()  # noqa: SLF001 - connects before Spark begins
            log_in(SparkContext._gateway)  # noqa: SLF001 - as above
            yield
            jvm.stop()
        except BaseException:
            jvm.kill()
            raise


@contextmanager
def _environment() -> Iterator[None]:
    """Put this process's environment back: PySpark's connection to a JVM stands in it.

    Another driver that this process starts would take it for the machine's own.
    """
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def reason_of(error: Exception) -> str:
    """Return the last line of what a task raised, without the stack traces of Spark and Python."""
    lines = [each.strip() for each in str(error).splitlines() if each.strip()]
    ours = [each for each in lines if each.startswith(_OURS)]
    last = (ours or lines or [type(error).__name__])[-1]
    return last.removeprefix(_OURS).partition(": ")[2] if ours else last
