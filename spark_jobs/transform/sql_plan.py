"""A transform in Spark SQL as a DataFrame: expressions in, results for the writer out.

SQL sees ``topic``, ``partition``, ``offset``, ``timestamp``, ``key``, ``value`` and ``headers``
with the types of Spark's Kafka source; ``key`` and ``value`` as text or JSON where the file says
so. A value that is no JSON is a poison record, whatever the expressions would make of it.

Each record is tried for itself: what the expressions raise on it, such as a cast, makes it a poison
record, and ends no job. Of these Spark tells no reason, so ``single_record`` tries them once more.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql import types as T  # noqa: N812 - as above

from replication.errors import ConfigError
from replication.settings.transform_settings import AVRO, JSON, STRING, SettingText
from spark_jobs.transform.columns.record_columns import (
    BAD_KEY,
    BAD_VALUE,
    FAILED,
    REASON_BIT,
    RECORDS,
    ROW,
    rows_ddl,
)
from spark_jobs.transform.sql_errors import planned
from spark_jobs.transform.sql_text import columns_in, parts_of
from spark_jobs.transform.task.sql_results import PARTITION, ROUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import Column, DataFrame

    from replication.settings.transform_settings import TopicTransform

_CONTENT = ("key", "value", "headers")
_REPEATED = {"topic", "partition", "key", "headers"}  # the same for many records, or often so
_OUTPUT = (*_CONTENT, "timestamp", "partition")
# PySpark logs every refusal with its stack trace: those that matter have a message of their own.
logging.getLogger("SQLQueryContextLogger").disabled = True
_CORRUPT = "isthmus_corrupt"
_DOCUMENTS = (JSON, AVRO)  # the process that reads decodes Avro to JSON
_KEPT, _MADE = "isthmus_kept", "isthmus_made"
_HEADERS = "array<struct<key: string, value: binary>>"
_JSON_TYPES = (T.StructType, T.MapType, T.ArrayType, T.VariantType)
# The plan of a transform has one stage: what else there is would lose the order of a partition.
_ORDERLESS = ("Exchange", "Window", "Aggregate", "Join", "Sort", "Limit")
_SESSION = {
    # Unlike an epoch's plan, these run over millions of records: compiled code is worth its time.
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    # It would evaluate what occurs twice beforehand: outside of the attempt at the expression.
    "spark.sql.subexpressionElimination.enabled": "false",
    # It would evaluate ``where`` twice: once for the filter, and once for the reason.
    "spark.sql.optimizer.excludedRules": (
        "org.apache.spark.sql.catalyst.optimizer.PushDownPredicates,"
        "org.apache.spark.sql.catalyst.optimizer.PushPredicateThroughNonJoin"
    ),
}
_JSON_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}


def sql_session(spark: SparkSession) -> SparkSession:
    """Return a session of its own for transforms in SQL, in the same application."""
    session = spark.newSession()
    for key, value in _SESSION.items():
        session.conf.set(key, value)
    return session


@dataclass(frozen=True)
class SqlPlan:
    """A transform in SQL, analysed once: ``results`` of many batches follow from it."""

    transform: TopicTransform
    inputs: tuple[str, ...]  # columns that SQL has to be given
    fields: T.StructType | None  # of a value with a schema
    made: Mapping[str, Column]  # what ``select`` and ``route`` make
    # Columns by which SQL tells the records of a partition apart, so that it needs one of each kind
    # alone; None: it needs each record.
    kinds: tuple[str, ...] | None = None

    def results(self, records: DataFrame, *, raises: bool = False) -> DataFrame:
        """Return the results of ``records``, as ``task.sql_results`` takes them.

        ``records`` has the columns of ``inputs``, or more. ``raises``: what an expression raises
        ends the job, with its reason.
        """
        attempt = _same if raises else _attempt
        seen = self.decoded(records)
        if self.transform.where is not None:
            seen = _filtered(seen, F.expr(self.transform.where.text), attempt)
        seen = _with_made(seen, self.made, attempt)
        named = {"partition": PARTITION}
        found = (_member(each).alias(named.get(each, each)) for each in self.made)
        return seen.select(ROW, *found)

    @property
    def is_small(self) -> bool:
        """Whether a result is a few bytes, however large its record is."""
        return not self.made.keys() & {*_CONTENT}

    def decoded(self, records: DataFrame) -> DataFrame:
        """Return the columns that SQL sees; rows of records that have no JSON say so."""
        known, transform, found = {*records.columns}, self.transform, records
        for side, kind in (("key", transform.key_format), ("value", transform.value_format)):
            if side in known and kind == STRING:
                found = found.withColumn(side, F.col(side).cast("string"))
            if side in known and kind in _DOCUMENTS:
                found = _parsed(found, side, self.fields if side == "value" else None)
        return found


def sql_plan(spark: SparkSession, transform: TopicTransform) -> SqlPlan:
    """Analyse a transform on no records. Raises ConfigError: ``file:line: key``, Spark's reason."""
    every = tuple(RECORDS.names)
    plan = SqlPlan(transform, every, _fields(transform.value_schema), {})
    seen = plan.decoded(_no_records(spark, every))
    _check_where(seen, transform.where)
    plan = replace(plan, made=_made(seen, transform))
    plan = replace(plan, inputs=_inputs(plan))
    first = SettingText("", transform.first_line)
    results = planned(first, lambda: plan.results(_no_records(spark, plan.inputs)))
    plan = replace(plan, kinds=_kinds(plan, results))
    found = results._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - no call for it
    if kind := next((each for each in _ORDERLESS if each in found), None):
        raise ConfigError(
            f"{transform.first_line}: it needs {kind.lower()}, which would lose the order of "
            "records: a transform works on one record at a time"
        )
    return plan


def _inputs(plan: SqlPlan) -> tuple[str, ...]:
    """Return the columns that SQL names.

    Decoding the others, and passing them through the JVM, would cost more than the expressions.
    """
    transform, named = plan.transform, set[str]()
    for each in (transform.where, transform.select, transform.route):
        named |= columns_in(each.text, RECORDS.names) if each else set()
    formats = {"key": transform.key_format, "value": transform.value_format}
    named |= {side for side, kind in formats.items() if kind in _DOCUMENTS}
    return tuple(sorted(named))


def _kinds(plan: SqlPlan, results: DataFrame) -> tuple[str, ...] | None:
    """Return ``SqlPlan.kinds``, where records may repeat and what SQL makes of them is small."""
    analyzed = results._jdf.queryExecution().analyzed()  # noqa: SLF001 - no call for it
    if not ({*plan.inputs} <= _REPEATED and plan.is_small and analyzed.deterministic()):
        return None
    return tuple(each for each in plan.inputs if each in _CONTENT)


def _no_records(spark: SparkSession, names: Iterable[str]) -> DataFrame:
    return spark.createDataFrame([], rows_ddl(names))


def _check_where(seen: DataFrame, where: SettingText | None) -> None:
    if where is None:
        return
    kind = planned(where, lambda: seen.select(F.expr(where.text))).schema[0].dataType
    if not isinstance(kind, (T.BooleanType, T.NullType)):
        raise ConfigError(f"{where.where}: it is a {kind.simpleString()}, not a BOOLEAN")


def _fields(schema: SettingText | None) -> T.StructType | None:
    if schema is None:
        return None
    fields = planned(schema, lambda: T._parse_datatype_string(schema.text))  # noqa: SLF001 - DDL
    if not isinstance(fields, T.StructType):
        raise ConfigError(
            f"{schema.where}: {schema.text} is not a list of fields → a INT, b STRING"
        )
    return fields


def _same(column: Column) -> Column:
    return column


def _attempt(column: Column) -> Column:
    """Return ``column``, null where it raises: Spark's ``try_`` functions do so each for itself."""
    jvm: Any = SparkSession.active()._jvm  # noqa: SLF001 - no call for it
    # By whole names: package by package, py4j would look for each in all of Spark's archives.
    columns = getattr(jvm, "org.apache.spark.sql.classic.ExpressionUtils")
    try_eval = getattr(jvm, "org.apache.spark.sql.catalyst.expressions.TryEval")
    tried = try_eval(columns.expression(column._jc))  # noqa: SLF001 - as above
    return type(column)(columns.column(tried))


def _member(name: str) -> Column:
    return F.col(_MADE).getField(name)


def _is_good() -> Column:
    """Whether a row is a record of which nothing is wrong so far."""
    return F.col(ROW) < F.lit(1 << REASON_BIT)


def _filtered(seen: DataFrame, condition: Column, attempt: Callable[[Column], Column]) -> DataFrame:
    """Leave out what ``condition`` does not keep; poison records are kept, with their reason."""
    kept = attempt(F.coalesce(condition, F.lit(False)))  # noqa: FBT003 - a literal of SQL
    tried = seen.withColumn(_KEPT, F.when(_is_good(), kept))
    left = tried.where(F.coalesce(_KEPT, F.lit(True)))  # noqa: FBT003 - as above
    return _marked(left, F.col(_KEPT).isNull(), FAILED)


def _with_made(
    seen: DataFrame, made: Mapping[str, Column], attempt: Callable[[Column], Column]
) -> DataFrame:
    """Add what ``select`` and ``route`` make of each good record, as one struct."""
    if not made:
        return seen
    struct = F.struct(*(column.alias(name) for name, column in made.items()))
    tried = seen.withColumn(_MADE, F.when(_is_good(), attempt(struct)))
    return _marked(tried, F.col(_MADE).isNull(), FAILED)


def _marked(rows: DataFrame, is_bad: Column, reason: int) -> DataFrame:
    """Mark good records that are bad as poison records."""
    marked = F.when(_is_good() & is_bad, F.col(ROW) + F.lit(reason)).otherwise(F.col(ROW))
    return rows.withColumn(ROW, marked)


def _parsed(records: DataFrame, side: str, fields: T.StructType | None) -> DataFrame:
    text = F.col(side).cast("string")
    if fields is None:
        parsed = F.try_parse_json(text)
        is_bad = F.col(side).isNotNull() & parsed.isNull()
    else:
        whole = T.StructType([*fields.fields, T.StructField(_CORRUPT, T.StringType())])
        parsed = F.from_json(text, whole, _JSON_OPTIONS)
        is_bad = F.col(side).isNotNull() & (parsed.isNull() | parsed[_CORRUPT].isNotNull())
        parsed = parsed.dropFields(_CORRUPT)
    reason = BAD_KEY if side == "key" else BAD_VALUE
    return _marked(records, is_bad, reason).withColumn(side, parsed)


def _made(seen: DataFrame, transform: TopicTransform) -> dict[str, Column]:
    """Return what ``select`` names, and ``routes``, in their types. Raises ConfigError."""
    made, written = {}, transform.select
    if written is not None:
        parts = parts_of(written.text)
        schema = planned(written, lambda: seen.selectExpr(*parts)).schema
        for field, part in zip(schema.fields, parts, strict=True):
            if field.name not in _OUTPUT:
                raise ConfigError(
                    f"{written.where}: it names {field.name}: write <expression> AS one of "
                    f"{', '.join(_OUTPUT)}"
                )
            column = _as_output(field.name, F.expr(part), field.dataType, written)
            planned(written, lambda c=column: seen.select(c))
            made[field.name] = column
    if transform.route is not None:
        made[ROUTES] = _routes(seen, transform.route)
    return made


def _as_output(name: str, column: Column, kind: T.DataType, written: SettingText) -> Column:
    """Return a column in the type that is written. Raises ConfigError for one that has no bytes."""
    if name in ("key", "value"):
        if isinstance(kind, (T.BinaryType, T.NullType)):
            return column.cast("binary")
        if isinstance(kind, T.StringType):
            return column.cast("binary")
        if isinstance(kind, _JSON_TYPES):
            return F.to_json(column).cast("binary")
        raise ConfigError(
            f"{written.where}: {name} is a {kind.simpleString()}: cast it to string or binary"
        )
    output_type = {"headers": _HEADERS, "timestamp": "timestamp", "partition": "int"}[name]
    if name == "timestamp" and isinstance(kind, (T.LongType, T.IntegerType)):
        return F.timestamp_millis(column)
    if name == "headers" and not isinstance(kind, T.ArrayType):
        raise ConfigError(f"{written.where}: headers is a {kind.simpleString()}, not {_HEADERS}")
    return column.cast(output_type)


def _routes(seen: DataFrame, written: SettingText) -> Column:
    column = F.expr(written.text)
    kind = planned(written, lambda: seen.select(column)).schema[0].dataType
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StringType):
        return column
    if not isinstance(kind, (T.StringType, T.NullType)):
        raise ConfigError(
            f"{written.where}: it is a {kind.simpleString()}, not the name of a topic, or an array "
            "of names"
        )
    return F.when(column.isNotNull(), F.array(column.cast("string")))
