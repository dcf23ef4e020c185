"""The checked configuration of a whole file. Built by ``load_config``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from replication.settings.file_settings import (
    Alerts,
    BoundedJobs,
    DagsterSettings,
    SparkSettings,
    VerificationSettings,
)
from replication.settings.flow_settings import Flow
from replication.settings.metrics_settings import MetricsSettings
from replication.settings.section import Section


class Cluster(Section):
    """One Kafka cluster. ``client``: an admin client's Java properties, placeholders unresolved."""

    alias: str
    bootstrap_servers: tuple[str, ...] = Field(min_length=1)
    client: Mapping[str, str] = Field(
        default={}, repr=False
    )  # admin client: bootstrap.servers, security.*, sasl.*, ssl.*, …


class Config(Section):
    """A whole file, checked."""

    path: Path
    clusters: Mapping[str, Cluster]
    flows: tuple[Flow, ...]
    spark: SparkSettings = SparkSettings()
    jobs: BoundedJobs = BoundedJobs()
    verification: VerificationSettings = VerificationSettings()
    alerts: Alerts = Alerts()
    metrics: MetricsSettings = MetricsSettings()
    dagster: DagsterSettings = DagsterSettings()
    warnings: tuple[str, ...] = ()  # about the file, each with file:line, key and what to do

    def flow(self, name: str) -> Flow:
        """Return the flow called ``A->B``. Raises KeyError."""
        return next(each for each in self.flows if each.name == name)

    def flow_back(self, flow: Flow) -> Flow | None:
        """Return the flow from the target of ``flow`` to its source, if there is one."""
        ends = flow.target, flow.source
        return next((each for each in self.flows if (each.source, each.target) == ends), None)

    def flows_into(self, target: str) -> tuple[Flow, ...]:
        """Return the flows that one Spark application hosts when it is ``per-target``."""
        return tuple(each for each in self.flows if each.target == target)
