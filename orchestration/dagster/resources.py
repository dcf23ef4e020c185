"""The Dagster resource that gives jobs, sensors and checks their flows, clients and launcher."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from orchestration.flows.kafka_clients import KafkaClusters
from orchestration.flows.observation.beat_watch import BeatWatch
from orchestration.flows.observation.flow_reader import look_here
from orchestration.flows.observation.lag_watch import LagWatch
from orchestration.flows.observation.time_limit import in_time
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory
from replication.adapters.followed_file import FollowedFile
from replication.client.cluster_ids import FlowClusters
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestration.flows.observation.clients import ClusterClients
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.adapters.followed_file import FileInForce
    from replication.client.admin import Clients
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.supervision.driver_supervision import Application
    from replication.supervision.lag import FlowLag

RECENT_S = 20.0  # sensors of one process share looks that are this young
LOOK_S = (
    15.0  # a tick must end within 20 s: Dagster does not cancel one that hangs, and starts more
)


@cache
def _clusters() -> ClusterClients:
    return KafkaClusters()


@cache
def followed_file(file: Path, home: Path) -> FollowedFile:
    """Return what follows the file in this process."""
    return FollowedFile(file, home)


@cache
def _last_looks() -> dict[str, tuple[float, FlowLook | None]]:
    return {}


@cache
def _lag_watch() -> LagWatch:
    return LagWatch()


@cache
def _beat_watches() -> dict[str, BeatWatch]:
    return {}  # by file


@dataclass(frozen=True)
class Isthmus:
    """The flows of one file, their clusters and their processes on this host.

    ``config_path``: the properties file; ``home_path``: the state directory. Both are fixed when
    the definitions load: a ConfigurableResource would offer them in every launchpad.
    """

    config_path: str
    home_path: str

    def config(self) -> Config:
        """Return the settings in force: the file's, or those before a broken edit."""
        return self.reading().config

    def reading(self) -> FileInForce:
        """Look at the file again, so that an edit applies. Raises ConfigError: it never could."""
        return followed_file(Path(self.config_path), Path(self.home_path)).look()

    def clusters(self) -> ClusterClients:
        """Return the clients, which are kept as long as this process."""
        return _clusters()

    def task_clients(self) -> Clients:
        """Return clients for background tasks; each run creates its own.

        They use no other target than the one that the drivers of this host have kept. Which source
        is right stands there.
        """
        from replication.adapters.clients import KafkaClients  # noqa: PLC0415 - 0.2 s that only such a run should pay

        config, launcher = self.config(), self.launcher()
        known = {
            name: FlowClusters(name, "", launcher.cluster_ids(app, config.flow(name)).target)
            for app in applications(config)
            for name in app.flows
        }
        return KafkaClients(known=known)

    def launcher(self) -> Launcher:
        return Launcher(StateDirectory(Path(self.home_path)), Path(self.config_path))

    def lag(self, look: FlowLook) -> FlowLag:
        return _lag_watch().lag(look)

    def look(self, flows: Sequence[tuple[Flow, Application]]) -> list[FlowLook | None]:
        """Read flows at once. None for one whose clusters did not answer within LOOK_S."""
        launcher, clusters = self.launcher(), self.clusters()
        beats = _beat_watches().setdefault(self.config_path, BeatWatch())
        looks = in_time(
            lambda each: beats.aged(lambda: look_here(*each, clusters, launcher)),
            flows,
            LOOK_S,
        )
        now_s = time.monotonic()
        _last_looks().update(
            (flow.name, (now_s, look)) for (flow, _), look in zip(flows, looks, strict=True)
        )
        return looks

    def recent_looks(self, flows: Sequence[tuple[Flow, Application]]) -> list[FlowLook | None]:
        """Return the last looks of this process, unless they are old: then look again."""
        now_s, last = time.monotonic(), _last_looks()
        old = (-RECENT_S, None)
        if all(now_s - last.get(flow.name, old)[0] < RECENT_S for flow, _ in flows):
            return [last[flow.name][1] for flow, _ in flows]
        return self.look(flows)


IsthmusResource = dg.ResourceParam[Isthmus]  # the annotation of what Dagster passes


def without_config(isthmus: Isthmus) -> dg.ResourceDefinition:
    """Return the resource for the definitions: one that a launchpad cannot configure."""
    return dg.ResourceDefinition(lambda _: isthmus, config_schema={})
