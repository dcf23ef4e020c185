"""Writes the archive of Java classes of a driver that copies: all that a start needs are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from py4j.protocol import Py4JError

from spark_jobs.driver.driver_heartbeats import DriverHeartbeats
from spark_jobs.driver.flow.flow_query import first_line
from spark_jobs.process.jvm import dump_archive

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from spark_jobs.driver.flow.flow_driver import FlowDriver
    from spark_jobs.driver.flow_lease import FlowLease
    from spark_jobs.process.jvm import SparkJvm

_AFTER_S = 8.0  # of copying

log = structlog.get_logger()


def dump_when_loaded(jvm: SparkJvm, spark: SparkSession, flows: Sequence[FlowDriver]) -> None:
    """Write the class archive once, when all classes that a start needs are loaded.

    The JVM stops meanwhile, and so would each call of ours; units copy on.
    """
    if jvm.archive is None or not all(each.cycle.copies_since(_AFTER_S) for each in flows):
        return
    archive, jvm.archive = jvm.archive, None
    dump(spark, archive, [each.lease for each in flows])


def dump(spark: SparkSession, archive: Path, leases: Sequence[FlowLease]) -> None:
    """Write the archive; the flows' statuses stay what they are meanwhile."""
    with DriverHeartbeats(leases):
        try:
            dump_archive(spark.sparkContext._gateway, archive)  # noqa: SLF001 - see dump_archive
        except (OSError, Py4JError) as error:
            log.warning("no class archive: the next start is slower", reason=first_line(error))
