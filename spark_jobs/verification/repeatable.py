"""Says whether a transform makes the same of a record whenever it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from replication.settings.transform_settings import SettingText, TopicTransform
    from spark_jobs.transform.sql_plan import SqlPlan


def unrepeatable_sql(spark: SparkSession, plan: SqlPlan, records: DataFrame) -> str:
    """Return which text of a transform in SQL depends on time or chance; empty: none does.

    ``records``: none, with the columns that SQL is given.
    """
    seen = plan.decoded(records)
    for each in _texts(plan.transform):
        analyzed: Any = seen.selectExpr(*_parts(each))._jdf.queryExecution().analyzed()  # noqa: SLF001
        names = sorted(set(_depending(spark, analyzed.expressions())))
        if names:
            return f"{each.where}: {', '.join(names)}: its results cannot be made a second time"
    return ""


def _texts(transform: TopicTransform) -> list[SettingText]:
    return [each for each in (transform.where, transform.select, transform.route) if each]


def _parts(written: SettingText) -> list[str]:
    from spark_jobs.transform.sql_text import parts_of  # noqa: PLC0415 - beside its only use

    return parts_of(written.text)


def _depending(spark: SparkSession, expressions: Any) -> Iterator[str]:
    """Yield the names of functions whose results depend on time, chance or place."""
    patterns: Any = spark._jvm  # noqa: SLF001 - no call for it
    now = getattr(patterns, "org.apache.spark.sql.catalyst.trees.TreePattern").CURRENT_LIKE()
    for number in range(expressions.size()):
        yield from _named(expressions.apply(number), now)


def _named(expression: Any, now: Any) -> Iterator[str]:
    if expression.deterministic() and not expression.containsPattern(now):
        return
    children = expression.children()
    within = [name for at in range(children.size()) for name in _named(children.apply(at), now)]
    yield from within or [f"{expression.prettyName()}()"]
