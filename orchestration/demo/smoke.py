"""The smoke test: kills a worker and a driver during copying, then compares every record."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from orchestration.demo.demo_clusters import Demo
from orchestration.demo.event_producer import Load, create_topics, write
from orchestration.demo.smoke_verdict import compare_all
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.status_view import StatusView
from orchestration.services.launcher import Launcher
from orchestration.services.local_session import LocalSession
from orchestration.services.state_directory import StateDirectory
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.local.process_tree import below, kill
from replication.errors import EnvironmentProblem
from replication.model import TopicPartition
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from orchestration.demo.scenarios import Scenario
    from orchestration.demo.smoke_verdict import SmokeVerdict
    from orchestration.flows.status_view import FlowView
    from replication.adapters.auth.client_settings import ClientSettings
    from replication.supervision.driver_supervision import Application

    Views = tuple[FlowView, ...]

TOPICS = ("smoke-a", "smoke-b", "smoke-c")
PARTITIONS = 4
_PATIENCE_S = 60.0
_START_S = _RETURN_S = 120.0  # a machine may be busy with other things
_LOOK_S = 0.1
_PORTIONS = 40  # half a second apart
_COPIES = "pyspark.worker"  # in the command of a process that runs tasks; others only plan
_KILL_WORKER_AT, _KILL_DRIVER_AT = 8, 18


@dataclass(slots=True)
class Smoke:
    """One run, in its own state directory that is deleted afterwards."""

    root: Path
    scenario: Scenario
    records: int  # written, all clusters together
    staged: Demo = field(init=False)
    session: LocalSession = field(init=False)
    view: StatusView = field(init=False)
    back_s: float = 0.0  # from the driver's kill until the next one has copied records
    _killed_at: float = 0.0
    _before: Reached = field(init=False)

    @property
    def written(self) -> Mapping[str, int]:
        """Records by the cluster that they are written to."""
        each, rest = divmod(self.records, len(self.scenario.writers))
        return {name: each + (number < rest) for number, name in enumerate(self.scenario.writers)}

    def start_clusters(self) -> None:
        """Start the clusters and create the topics."""
        self.staged = Demo(self.root / "clusters", self.scenario)
        self.staged.start_clusters()
        for name in self.scenario.writers:
            create_topics(self._client(name), TOPICS, PARTITIONS)

    def start_flows(self) -> None:
        """Start Dagster and the flows; return when every flow runs."""
        config = read_config(self.staged.config)
        launcher = Launcher(StateDirectory(self.root), self.staged.config)
        self.session = LocalSession(launcher, applications(config), ui=False)
        self.view = StatusView(config, launcher)
        self.session.start()
        self._wait(
            lambda views: all(each.health.state == "RUNNING" for each in views),
            "starting the flows",
            _START_S * (1 + len(self.session.applications)),
        )

    def copy_during_kills(self) -> None:
        """Write all records; kill a worker and a driver's JVM meanwhile."""
        victim = self.session.applications[-1]
        back = threading.Thread(target=self._time_recovery, args=(victim,), daemon=True)
        for number in range(_PORTIONS):
            began = time.monotonic()
            self._write_portion(number)
            if number == _KILL_WORKER_AT:
                self._kill(self.session.applications[0], _COPIES, "a Spark Python worker")
            if number == _KILL_DRIVER_AT:
                self._killed_at, self._before = time.monotonic(), self._newest(victim)
                self._kill(victim, "org.apache.spark.deploy", "the driver's JVM")
                back.start()
            time.sleep(max(0.0, 0.5 - (time.monotonic() - began)))
        back.join(_RETURN_S)
        if not self.back_s:
            raise EnvironmentProblem(
                f"no driver followed the killed one within {_RETURN_S:g} s; logs: {self.root}"
            )

    def _write_portion(self, number: int) -> None:
        for place, (name, records) in enumerate(self.written.items()):
            portion, rest = divmod(records, _PORTIONS)
            size = portion + (rest if number == _PORTIONS - 1 else 0)
            seed = number * len(self.written) + place
            write(self._client(name), Load(TOPICS, PARTITIONS, size, seed, name))

    def _time_recovery(self, app: Application) -> None:
        """Measure until the driver that replaces the killed one has copied records."""
        while time.monotonic() < self._killed_at + _RETURN_S:
            if self._newest(app).follows(self._before):
                self.back_s = time.monotonic() - self._killed_at
                return
            time.sleep(_LOOK_S)

    def drain(self) -> None:
        """Wait until all records of all clusters are copied, twice in a row.

        Once is not enough: a record that one flow appends may have to be copied by another.
        """
        before: Mapping[str, Mapping[TopicPartition, int]] = {}

        def copied(_: Views) -> bool:
            nonlocal before
            ends, earlier = self._ends(), before
            before = ends
            return ends == earlier and all(self._reaches(each, ends) for each in self.view.look())

        self._wait(copied, "copying the rest", 2 * _PATIENCE_S)

    def _ends(self) -> Mapping[str, Mapping[TopicPartition, int]]:
        partitions = [TopicPartition(t, number) for t in TOPICS for number in range(PARTITIONS)]
        sources = {link.source for link in self.scenario.links}
        admins = {name: KafkaAdmin(self._client(name)) for name in sources}
        return {name: admin.end_offsets(partitions) for name, admin in admins.items()}

    def _reaches(self, view: FlowView, ends: Mapping[str, Mapping[TopicPartition, int]]) -> bool:
        reached = {
            TopicPartition(each.topic, each.partition): each.source
            for topic in view.topics
            for each in topic.anchors
        }
        source = view.name.partition("->")[0]
        return all((reached.get(each) or 0) >= end for each, end in ends[source].items())

    def compare(self) -> SmokeVerdict:
        """Compare every record everywhere, the targets read uncommitted."""
        clients = {name: self._client(name) for name in self.scenario.clusters}
        return compare_all(self.scenario, clients, TOPICS, self.written)

    def stop(self) -> None:
        """Stop all that was started."""
        if hasattr(self, "session"):
            self.session.stop()
        if hasattr(self, "staged"):
            self.staged.stop()

    def _kill(self, app: Application, mark: str, what: str) -> None:
        """SIGKILL the busiest process below the driver whose command holds ``mark``."""
        driver = self.session.launcher.driver(app)
        candidates = [each for each in below(driver.pid) if mark in each.command] if driver else []
        if not candidates:
            raise EnvironmentProblem(f"killing {what} of {app.name}: no such process runs")
        kill(max(candidates, key=lambda each: each.cpu_s).pid)

    def _newest(self, app: Application) -> Reached:
        """Return the newest generation of an application and its copied records."""
        views = [each for each in self.view.look() if each.name in app.flows]
        return reached(
            (a.generation, a.records) for v in views for topic in v.topics for a in topic.anchors
        )

    def _wait(self, is_so: Callable[[Views], bool], what: str, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while True:
            views = self.view.look()
            if is_so(views):
                return
            if time.monotonic() > deadline:
                health = "; ".join(
                    f"{each.name} {each.health.state} ({each.health.reason})" for each in views
                )
                raise EnvironmentProblem(
                    f"{what}: not done after {limit_s:.0f} s: {health}; logs are in {self.root}"
                )
            time.sleep(_LOOK_S)

    def _client(self, cluster: str) -> ClientSettings:
        return self.staged.client(cluster)


class Reached(NamedTuple):
    """The newest generation of drivers that wrote anchors, and the records on the target."""

    generation: int
    records: int

    def follows(self, before: Reached) -> bool:
        """Return whether a newer driver has copied records since."""
        return self.generation > before.generation and self.records > before.records


def reached(anchors: Iterable[tuple[int, int]]) -> Reached:
    """Sum up anchors, each its driver's generation and its records."""
    listed = list(anchors)
    generations = [generation for generation, _ in listed]
    return Reached(max(generations, default=0), sum(records for _, records in listed))
