"""Writes records of given offsets to files: ``python -m spark_jobs.export.tail_export REQUEST``.

The request is a JSON file: ``config``, ``flow``, ``directory`` and ``partitions``, each with its
topic, number and ranges of offsets; ``of_target``: of the flow's target, not of its source. Records
come to ``directory/parquet`` with bytes as they are, and to ``directory/json`` as lines that a
person can read. Exit code 1 says why on stderr.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.config.load import load_config
from replication.errors import ReplicationError
from replication.model import OffsetRange
from spark_jobs.export.record_reader import ExportedRanges, json_line, read_ranges
from spark_jobs.process.bounded_session import bounded_conf, reason_of, started_spark
from spark_jobs.process.job_process import job_process
from spark_jobs.process.spark_session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA = (
    "topic string, partition int, offset long, timestamp long, key binary, value binary, "
    "headers array<struct<name: string, value: binary>>"
)


def _export(request: dict[str, Any]) -> None:
    parts = [
        ExportedRanges(
            each["topic"],
            each["partition"],
            [OffsetRange(*span) for span in each["ranges"]],
            each.get("of_target", False),
        )
        for each in request["partitions"]
    ]
    config = load_config(Path(request["config"])).config
    conf = bounded_conf(config.spark, config.jobs, "isthmus export")
    with started_spark(conf):
        _write(start_session(conf), request, parts)


def _write(spark: SparkSession, request: dict[str, Any], parts: list[ExportedRanges]) -> None:
    """Write both forms; what an interrupted export left there is replaced."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - after the JVM has started

    config, flow, folder = request["config"], request["flow"], request["directory"]
    read = spark.sparkContext.parallelize(parts, len(parts)).flatMap(
        lambda each: read_ranges(config, flow, ExportedRanges(*each))
    )
    try:
        spark.createDataFrame(read, _SCHEMA).write.mode("overwrite").parquet(f"{folder}/parquet")
        rows = spark.read.parquet(f"{folder}/parquet").rdd
        lines = spark.createDataFrame(rows.map(lambda row: (json_line(row),)), "value string")
        lines.write.mode("overwrite").text(f"{folder}/json")
    except PySparkException as error:
        raise ReplicationError(f"exporting to {folder}: {reason_of(error)}") from None


if __name__ == "__main__":
    sys.exit(job_process(_export))
