"""Compares ranges in the Spark session of a run, by the resource of ``dagster-pyspark``.

A run is a process of its own. The JVM is started first, as for the command: with the budget of
bounded jobs, and without an argument that other users could read. The resource builds its session
in it; so it needs no config, which Dagster would store and show, with all its passwords.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestration.verification.flow_verification import Progress
    from replication.settings.config import Config
    from replication.verification.ranges import RangeResult, VerifiedRange


class SparkSessions(Protocol):
    """What ``LazyPySparkResource`` gives an op."""

    @property
    def spark_session(self) -> Any:
        """Return the session of this process; it is built when this is first read."""


SparkResource = dg.ResourceParam[SparkSessions]


def lazy_spark() -> dg.ResourceDefinition:
    """Return the resource: a session is built when an op asks for it, and not before."""

    def build(_: dg.InitResourceContext) -> SparkSessions:
        from dagster_pyspark import LazyPySparkResource  # noqa: PLC0415 - imports Spark, which only such a run should

        return LazyPySparkResource(spark_config={})

    return dg.ResourceDefinition(build, config_schema={})


class SparkInRun:
    """Implements RangeRunner for the flows of a file."""

    def __init__(self, config: Config, sessions: SparkSessions) -> None:
        self._config = config
        self._sessions = sessions

    def __call__(
        self, flow: str, ranges: Sequence[VerifiedRange], progress: Progress
    ) -> list[RangeResult]:
        """Return a result a range. Raises ReplicationError."""
        from spark_jobs.verification.verification_job import verify_with  # noqa: PLC0415 - as above

        progress("starting Spark", 0, len(ranges))
        return verify_with(
            lambda: self._sessions.spark_session,
            self._config,
            flow,
            ranges,
            partial(progress, "comparing"),
        )
