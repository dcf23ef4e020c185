"""Records in Parquet files or JSON lines as a DataFrame, from any place that Spark can read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql import types as T  # noqa: N812 - as above

from replication.errors import ConfigError
from spark_jobs.history.json_records import record_of
from spark_jobs.process.bounded_session import reason_of
from spark_jobs.process.spark_session import java_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

_HEADERS = "array<struct<key: string, value: binary>>"
_DDL = (
    "topic string, partition int, offset long, timestamp long, key binary, value binary, "
    f"headers {_HEADERS}"
)
_ARROW = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
_NO_FILE_SYSTEM = re.compile(r"No FileSystem for scheme|Class \S+\.fs\.\S+ not found")
_MISSING = (
    "Spark has no file system for {}:// here: name its package in spark.conf.spark.jars.packages "
    "(docs/backfill.md; S3 is s3a://)"
)
_NEEDED = ("partition", "offset", "timestamp", "value")
_FORM = "partition, offset, timestamp, key, value and headers, and topic"


def records_at(spark: SparkSession, path: str, topic: str | None) -> DataFrame:
    """Return the records below ``path``; ``topic``: of those that name none.

    Raises ConfigError naming ``path``: nothing is there, it cannot be read, or has other columns.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415 - after the JVM has started

    try:
        is_parquet = _is_parquet(spark, path)
        found = _parquet(spark, path) if is_parquet else _json(spark, path)
    except ConfigError:
        raise
    except PySparkException as error:
        raise ConfigError(f"reading {path}: {reason_of(error)}") from None
    except Exception as error:  # Hadoop's own, through py4j
        if "py4j" not in type(error).__module__:
            raise
        why = java_problem(error).rpartition("Exception: ")[2]
        if _NO_FILE_SYSTEM.search(why):
            why = _MISSING.format(path.partition(":")[0])
        raise ConfigError(f"reading {path}: {why}") from None
    if topic is not None:
        return found.withColumn("topic", F.coalesce("topic", F.lit(topic)))
    return found


def _is_parquet(spark: SparkSession, path: str) -> bool:
    names = [*_files(spark, path)]
    if not names:
        raise ConfigError(f"reading {path}: there is no file with records")
    kinds = {each.endswith(".parquet") for each in names}
    if len(kinds) > 1:
        raise ConfigError(
            f"reading {path}: it has Parquet files and others: name a folder with files of one kind"
        )
    return kinds.pop()


def _files(spark: SparkSession, path: str) -> Iterator[str]:
    """Yield the names of the files below ``path``, without Spark's and Hadoop's own."""
    jvm: Any = spark._jvm  # noqa: SLF001 - no call for it
    place = getattr(jvm, "org.apache.hadoop.fs.Path")(path)
    conf = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
    listed = place.getFileSystem(conf).listFiles(place, True)  # noqa: FBT003 - recursive
    while listed.hasNext():
        name = listed.next().getPath().getName()
        if not name.startswith(("_", ".")):
            yield name


def _parquet(spark: SparkSession, path: str) -> DataFrame:
    found = spark.read.option("recursiveFileLookup", "true").parquet(path)
    kinds = {each.name: each.dataType for each in found.schema}
    if missing := [each for each in _NEEDED if each not in kinds]:
        raise ConfigError(f"{path}: it has no column {missing[0]}: columns are {_FORM}")
    columns = {name: _column(path, name, kinds) for name in _ARROW.names}
    return found.select(*(column.alias(name) for name, column in columns.items()))


def _column(path: str, name: str, kinds: dict[str, T.DataType]) -> Column:
    kind = kinds.get(name)
    ddl = _HEADERS if name == "headers" else _ARROW_DDL[name]
    if kind is None:
        return F.lit(None).cast(ddl)
    if name == "timestamp" and isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
        return F.unix_millis(F.col(name).cast("timestamp"))
    numeric = isinstance(kind, T.IntegralType)
    fits = {
        "topic": isinstance(kind, T.StringType),
        "key": isinstance(kind, (T.BinaryType, T.StringType)),
        "value": isinstance(kind, (T.BinaryType, T.StringType)),
        "headers": _is_headers(kind),
    }.get(name, numeric)
    if not fits:
        raise ConfigError(f"{path}: its column {name} is a {kind.simpleString()}, not {ddl}")
    return F.col(name).cast(ddl)


_ARROW_DDL = {
    "topic": "string",
    "partition": "int",
    "offset": "long",
    "timestamp": "long",
    "key": "binary",
    "value": "binary",
}


def _is_headers(kind: T.DataType) -> bool:
    """Say whether a column has a list of pairs: a name and a value, whatever they are called."""
    if not isinstance(kind, T.ArrayType) or not isinstance(kind.elementType, T.StructType):
        return False
    types = [each.dataType for each in kind.elementType.fields]
    texts = (T.StringType, T.BinaryType)
    return len(types) == 2 and isinstance(types[0], T.StringType) and isinstance(types[1], texts)


def _json(spark: SparkSession, path: str) -> DataFrame:
    lines = spark.read.option("recursiveFileLookup", "true").text(path)
    named = lines.where(F.length(F.trim("value")) > 0).select(
        "value", F.col("_metadata.file_path").alias("file")
    )
    return named.mapInArrow(_parsed, _DDL)


def _parsed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        records = []
        for line, file in zip(*(each.to_pylist() for each in batch.columns), strict=True):
            try:
                records.append(record_of(line))
            except ValueError as error:
                raise ConfigError(f"{file}: a line is not a record: {error}") from None
        yield pa.RecordBatch.from_pylist(records, schema=_ARROW)
