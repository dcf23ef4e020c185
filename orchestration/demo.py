"""The demo: two clusters on this machine, a stream of orders into the first, a flow to the second.

All of it is real and found again by a later command: ``isthmus down`` ends what a killed demo left.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.adapters.jars import DEFAULT_VERSION, kafka_jars
from replication.adapters.local_kafka import LocalCluster
from replication.adapters.processes import recall, remember, spawn
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SOURCE, TARGET = "primary", "backup"
CLUSTER_STOP_S = 2.0  # then killed: brokers recover, and Ctrl-C may take ten seconds
CONFIG = """\
# Written by `isthmus demo` at every start.
clusters = {source}, {target}
{source}.bootstrap.servers = {source_servers}
{target}.bootstrap.servers = {target_servers}
{source}->{target}.enabled = true
{source}->{target}.topics = .*
replication.factor = 1
"""


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo of one state directory."""

    root: Path  # <state directory>/demo

    @property
    def config(self) -> Path:
        return self.root / "demo.properties"

    def start_clusters(self) -> None:
        """Start both clusters at once and write the flow's file. Raises EnvironmentProblem."""
        self.root.mkdir(parents=True, exist_ok=True)
        kafka_jars(DEFAULT_VERSION)  # once, before two threads want them
        source, target = (self._cluster(name) for name in (SOURCE, TARGET))
        _at_once(source.start, target.start)
        self.config.write_text(
            CONFIG.format(
                source=SOURCE,
                target=TARGET,
                source_servers=source.bootstrap_servers,
                target_servers=target.bootstrap_servers,
            )
        )

    def servers(self, cluster: str) -> str:
        """Return the bootstrap servers of one of the two clusters."""
        return self._cluster(cluster).bootstrap_servers

    def start_traffic(self) -> None:
        """Let a process keep orders flowing into the source."""
        self._stop_traffic()  # of a demo that was killed
        servers = self._cluster(SOURCE).bootstrap_servers
        command = [sys.executable, "-m", "orchestration.traffic", "--bootstrap-servers", servers]
        remember(spawn(command, self.root / "traffic.log"), self._traffic)

    def stop(self) -> None:
        """End traffic and clusters, whoever started them. Data stays for the next time."""
        traffic = recall(self._traffic)
        if traffic is not None:
            traffic.stop(0.5)
        clusters = [self._cluster(name) for name in (SOURCE, TARGET) if (self.root / name).exists()]
        _at_once(*((lambda c=each: c.stop(CLUSTER_STOP_S)) for each in clusters))

    def _stop_traffic(self) -> None:
        traffic = recall(self._traffic)
        if traffic is not None:
            traffic.stop(2.0)

    @property
    def _traffic(self) -> Path:
        return self.root / "traffic.pid"

    def _cluster(self, name: str) -> LocalCluster:
        try:
            return LocalCluster.load(name, self.root)
        except FileNotFoundError:
            return LocalCluster(name, self.root)


def _at_once(*works: Callable[[], None]) -> None:
    """Do all at the same time; raise the first problem when all are done."""
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
