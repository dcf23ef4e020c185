"""Writes a diverged tail to files: ``python -m spark_jobs.export.tail_export REQUEST``.

The request is a JSON file: ``config``, ``flow``, ``directory`` and ``partitions``, each with its
topic, number and ranges of offsets. Records come to ``directory/parquet`` with bytes as they are,
and to ``directory/json`` as lines that a person can read. Exit code 1 says why on stderr.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.config.load import load_config
from replication.errors import ReplicationError
from spark_jobs.export.record_reader import ExportedRanges, json_line, read_ranges
from spark_jobs.process.jvm import launch
from spark_jobs.process.spark_session import spark_conf, start_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_SCHEMA = (
    "topic string, partition int, offset long, timestamp long, key binary, value binary, "
    "headers array<struct<name: string, value: binary>>"
)


def main(arguments: Sequence[str]) -> int:
    """Carry out the request in the file that is named; return the exit code."""
    request = json.loads(Path(arguments[0]).read_text())
    try:
        _export(request)
    except ReplicationError as error:
        print(error, file=sys.stderr)  # noqa: T201 - whoever started it shows that
        return 1
    return 0


def _export(request: dict[str, Any]) -> None:
    parts = [
        ExportedRanges(each["topic"], each["partition"], each["ranges"])
        for each in request["partitions"]
    ]
    config = load_config(Path(request["config"])).config
    conf = spark_conf(config.spark, len(parts))
    del conf["spark.python.daemon.module"]  # of units, which keep copying after their task
    with tempfile.TemporaryDirectory(prefix="isthmus-export-") as scratch:
        conf["spark.local.dir"] = scratch
        jvm = launch(conf, Path(scratch) / "log4j2.properties")
        try:
            jvm.connect()
            _write(start_session(conf), request, parts)
            jvm.stop()
        except BaseException:
            jvm.kill()
            raise


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
        raise ReplicationError(f"exporting to {folder}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Return the last line of what a task raised, without the stack traces of Spark and Python."""
    lines = [each.strip() for each in str(error).splitlines() if each.strip()]
    return lines[-1].removeprefix("replication.errors.") if lines else type(error).__name__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
