"""Spark's settings of an application: those of its flows' units, and of their transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.process.spark_session import spark_conf
from spark_jobs.transform.task.work import slots_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.settings.file_settings import SparkSettings
    from replication.settings.flow_settings import Flow

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Expressions run in the driver's JVM as long as it lives: the second compiler is worth its time,
# but for what runs once a row alone. With Java's own thresholds, a tenth of these, it compiles
# Spark's scheduler too, which took more time than a filter.
_SECOND_COMPILER = (
    "-XX:TieredStopAtLevel=4 -XX:Tier4InvocationThreshold=50000 "
    "-XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 "
    "-XX:Tier4BackEdgeThreshold=400000"
)
# A row lives for a moment: a larger young generation is collected less often.
_COMPILED = f"{_SECOND_COMPILER} -Xms384m -Xmn224m"


def application_conf(settings: SparkSettings, flows: Collection[Flow]) -> dict[str, str]:
    """Return all Spark settings for an application that copies these flows."""
    conf = spark_conf(settings, sum(slots_of(each) for each in flows))
    if any(each.is_sql for flow in flows for each in flow.transforms):
        conf[_JAVA_OPTIONS] = f"{_COMPILED} {conf.get(_JAVA_OPTIONS, '')}".strip()
    return conf
