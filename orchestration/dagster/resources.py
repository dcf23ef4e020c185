"""The Dagster resource that gives jobs, sensors and checks their flows, clients and launcher."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from orchestration.flows.clusters import KafkaClusters, read_config
from orchestration.flows.observe import FlowLook, LagWatch, in_time, look_here
from orchestration.services.home import Home
from orchestration.services.launcher import Launcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestration.flows.observe import Clusters
    from replication.client.admin import Clients
    from replication.settings.sections import Config, Flow
    from replication.supervision.driver_supervision import Application
    from replication.supervision.lag import FlowLag

LOOK_S = (
    15.0  # a tick must end within 20 s: Dagster does not cancel one that hangs, and starts more
)


@cache
def _clusters() -> Clusters:
    return KafkaClusters()


@cache
def _lag_watch() -> LagWatch:
    return LagWatch()


class IsthmusResource(dg.ConfigurableResource):  # type: ignore[type-arg] # its argument is the resource itself
    """The flows of one file, their clusters and their processes on this host."""

    config_path: str = Field(description="Properties file with the clusters and flows.")
    home_path: str = Field(description="State directory. Default: .isthmus.")

    def config(self) -> Config:
        """Read the file again, so that its present content applies. Raises ConfigError."""
        return read_config(Path(self.config_path))

    def clusters(self) -> Clusters:
        """Return the clients, which are kept as long as this process."""
        return _clusters()

    def task_clients(self) -> Clients:
        """Return clients for background tasks; each run creates its own."""
        from replication.adapters.clients import KafkaClients  # noqa: PLC0415 - 0.2 s that only such a run should pay

        return KafkaClients()

    def launcher(self) -> Launcher:
        return Launcher(Home(Path(self.home_path)), Path(self.config_path))

    def lag(self, look: FlowLook) -> FlowLag:
        return _lag_watch().lag(look)

    def look(self, flows: Sequence[tuple[Flow, Application]]) -> list[FlowLook | None]:
        """Read flows at once. None for one whose clusters did not answer within LOOK_S."""
        launcher, clusters = self.launcher(), self.clusters()
        return in_time(
            lambda each: look_here(*each, clusters, launcher),
            flows,
            LOOK_S,
        )
