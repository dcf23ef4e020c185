"""Starts and stops the demo's Kafka clusters and event producers on this machine.

A later command finds their processes: ``isthmus down`` stops those that a killed demo left.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.demo.local_logins import connection_lines, grant_needed
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.local.files import make_private, write_whole
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, kafka_jars
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.processes import recall, remember, spawn
from replication.adapters.local_secured.listeners import Security
from replication.adapters.local_secured.secured_cluster import SecuredCluster, stored_cluster
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from orchestration.demo.scenarios import Scenario
    from replication.adapters.auth.client_settings import ClientSettings

CLUSTER_STOP_S = 2.0  # then killed: brokers recover, and Ctrl-C may take ten seconds


@dataclass(frozen=True, slots=True)
class Demo:
    """One scenario, in its own directory."""

    root: Path
    scenario: Scenario

    @property
    def config(self) -> Path:
        return self.root / "demo.properties"

    def start_clusters(self) -> None:
        """Start all clusters at once and write the flows' file. Raises EnvironmentProblem."""
        make_private(self.root)
        fetch_kafka()  # once, before several threads need it
        clusters = [self.cluster(name) for name in self.scenario.clusters]
        _at_once(*(each.start for each in clusters))
        write_whole(self.config, self.scenario.config(connection_lines(clusters)))
        grant_needed(clusters, self.config)

    def client(self, cluster: str) -> ClientSettings:
        """Return librdkafka's settings of somebody who may do all on one of the clusters."""
        return to_librdkafka(self.cluster(cluster).admin)

    def start_traffic(self) -> None:
        """Start a producer process for each cluster with writers."""
        for seed, name in enumerate(self.scenario.writers, start=1):
            self._stop_traffic(name, 2.0)  # of a demo that was killed
            command = [
                sys.executable,
                "-m",
                "orchestration.demo.event_producer",
                "--seed",
                str(seed),
            ]
            cluster = self.cluster(name)
            command += ["--bootstrap-servers", cluster.admin["bootstrap.servers"]]
            if isinstance(cluster, SecuredCluster):
                command += ["--command-config", str(cluster.admin_file)]
            remember(spawn(command, self.root / f"traffic-{name}.log"), self._traffic(name))

    def running(self) -> Iterator[str]:
        """Yield what runs: clusters, and producers that write to them."""
        for name in self.scenario.writers:
            if recall(self._traffic(name)) is not None:
                yield f"producers of the demo {self.scenario.name} for {name}"
        for name in self.scenario.clusters:
            if (self.root / name).exists() and self.cluster(name).running():
                yield f"cluster {name} of the demo {self.scenario.name}"

    def stop(self) -> None:
        """Stop producers and clusters, whoever started them. Data stays for the next start."""
        for name in self.scenario.writers:
            self._stop_traffic(name, 0.5)
        there = [each for each in self.scenario.clusters if (self.root / each).exists()]
        clusters = [self.cluster(name) for name in there]
        _at_once(*((lambda c=each: c.stop(CLUSTER_STOP_S)) for each in clusters))

    def _stop_traffic(self, cluster: str, patience_s: float) -> None:
        traffic = recall(self._traffic(cluster))
        if traffic is not None:
            traffic.stop(patience_s)

    def _traffic(self, cluster: str) -> Path:
        return self.root / f"traffic-{cluster}.pid"

    def cluster(self, name: str) -> LocalCluster:
        """Return one of the clusters, started or not."""
        try:
            return stored_cluster(name, self.root)
        except FileNotFoundError:
            security = self.scenario.security.get(name)
            if security is None:
                return LocalCluster(name, self.root)
            return SecuredCluster(name, self.root, security=Security(security))


def demo_of(root: Path, scenario: Scenario) -> Demo:
    """Return the demo of a scenario in the state directory ``root``."""
    return Demo(root / f"demo-{scenario.name}", scenario)


def fetch_kafka() -> None:
    """Download Kafka unless an earlier start has. Raises EnvironmentProblem."""
    kafka_jars(DEFAULT_VERSION)


def _at_once(*works: Callable[[], None]) -> None:
    """Run all at the same time; raise the first problem when all are done."""
    problems: list[EnvironmentProblem] = []

    def one(work: Callable[[], None]) -> None:
        try:
            work()
        except EnvironmentProblem as error:
            problems.append(error)

    threads = [threading.Thread(target=one, args=(work,), daemon=True) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if problems:
        raise problems[0]
