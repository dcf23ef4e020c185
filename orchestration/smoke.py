"""The smoke: records flow while kill -9 hits; then every record is compared."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from orchestration.clusters import read_config
from orchestration.comparison import TopicPair, compare_topics
from orchestration.demo import SOURCE, TARGET, Demo
from orchestration.home import Home
from orchestration.launcher import Launcher
from orchestration.panel import Panel
from orchestration.session import Session
from orchestration.traffic import create_topics, load
from replication.adapters.kafka_admin import KafkaAdmin
from replication.adapters.process_tree import below, kill
from replication.compare import Kind
from replication.errors import EnvironmentProblem
from replication.model import TopicPartition
from replication.supervision import applications

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from orchestration.comparison import Result
    from orchestration.panel import FlowView

TOPICS = ("smoke-a", "smoke-b", "smoke-c")
PARTITIONS = 4
_PATIENCE_S = 60.0
_LOOK_S = 0.1
_PORTIONS = 40  # half a second apart
_WORKER_DIES_AT, _DRIVER_DIES_AT = 8, 18


@dataclass(slots=True)
class Smoke:
    """One run, in a state directory of its own that is gone afterwards."""

    root: Path
    records: int = 200_000
    staged: Demo = field(init=False)
    session: Session = field(init=False)
    panel: Panel = field(init=False)
    back_s: float = 0.0  # from the driver's death until the next one had copied something
    _killed_at: float = 0.0
    _before: Reached = field(init=False)

    def start(self) -> None:
        """Start clusters, Dagster and the flow; return when the first driver runs."""
        self.staged = Demo(self.root / "clusters")
        self.staged.start_clusters()
        create_topics(self._client(SOURCE), TOPICS, PARTITIONS)
        config = read_config(self.staged.config)
        launcher = Launcher(Home(self.root), self.staged.config)
        self.session = Session(launcher, applications(config), ui=False)
        self.panel = Panel(config, launcher)
        self.session.start()
        self._wait(lambda view: view.health.state == "RUNNING", "the flow runs", 2 * _PATIENCE_S)

    def copy_under_fire(self) -> None:
        """Write all records; kill a worker and the driver's JVM on the way."""
        servers = self.staged.servers(SOURCE)
        portion, rest = divmod(self.records, _PORTIONS)
        back = threading.Thread(target=self._time_the_return, daemon=True)
        for number in range(_PORTIONS):
            began = time.monotonic()
            last = rest if number == _PORTIONS - 1 else 0
            load(servers, TOPICS, PARTITIONS, portion + last, seed=number)
            if number == _WORKER_DIES_AT:
                self._kill("pyspark.daemon", "a Spark Python worker")
            if number == _DRIVER_DIES_AT:
                self._killed_at, self._before = time.monotonic(), self._newest()
                self._kill("org.apache.spark.deploy", "the driver's JVM")
                back.start()
            time.sleep(max(0.0, 0.5 - (time.monotonic() - began)))
        back.join(_PATIENCE_S)
        if not self.back_s:
            raise EnvironmentProblem(f"the driver is not back; its logs are in {self.root}")

    def _time_the_return(self) -> None:
        """Note when the driver that follows the killed one has copied something."""
        while time.monotonic() < self._killed_at + _PATIENCE_S:
            if self._newest().follows(self._before):
                self.back_s = time.monotonic() - self._killed_at
                return
            time.sleep(_LOOK_S)

    def drain(self) -> None:
        """Wait until the source holds nothing that is not copied."""
        ends = self._admin(SOURCE).end_offsets(
            TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITIONS)
        )

        def copied(view: FlowView) -> bool:
            reached = {
                TopicPartition(each.topic, each.partition): each.source
                for topic in view.topics
                for each in topic.anchors
            }
            return all((reached.get(each) or 0) >= end for each, end in ends.items())

        self._wait(copied, "everything is copied", _PATIENCE_S)

    def compare(self) -> Verdict:
        """Compare every record, the target read uncommitted."""
        pairs = [TopicPair(topic, f"{SOURCE}.{topic}") for topic in TOPICS]
        return verdict(compare_topics(self._client(SOURCE), self._client(TARGET), pairs))

    def stop(self) -> None:
        """End everything that was started."""
        if hasattr(self, "session"):
            self.session.stop()
        if hasattr(self, "staged"):
            self.staged.stop()

    def _kill(self, mark: str, what: str) -> None:
        """SIGKILL the busiest process below the driver whose command holds ``mark``."""
        (app,) = self.session.applications
        driver = self.session.launcher.driver(app)
        candidates = [each for each in below(driver.pid) if mark in each.command] if driver else []
        if not candidates:
            raise EnvironmentProblem(f"{what} was to be killed, but there is none")
        kill(max(candidates, key=lambda each: each.cpu_ticks).pid)

    def _newest(self) -> Reached:
        """Return how far the newest driver has come."""
        (view,) = self.panel.look()
        return reached((a.generation, a.records) for topic in view.topics for a in topic.anchors)

    def _wait(self, is_so: Callable[[FlowView], bool], what: str, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while True:
            (view,) = self.panel.look()
            if is_so(view):
                return
            if time.monotonic() > deadline:
                raise EnvironmentProblem(
                    f"after {limit_s:.0f} s it is still not so that {what}: {view.health.state} "
                    f"({view.health.reason}); logs are in {self.root}"
                )
            time.sleep(_LOOK_S)

    def _client(self, cluster: str) -> dict[str, str]:
        return {"bootstrap.servers": self.staged.servers(cluster)}

    def _admin(self, cluster: str) -> KafkaAdmin:
        return KafkaAdmin(self._client(cluster))


class Reached(NamedTuple):
    """The newest generation of drivers that wrote anchors, and the records on the target."""

    generation: int
    records: int

    def follows(self, before: Reached) -> bool:
        """Say whether a newer driver has copied something since."""
        return self.generation > before.generation and self.records > before.records


def reached(anchors: Iterable[tuple[int, int]]) -> Reached:
    """Sum up anchors, each its driver's generation and its records."""
    listed = list(anchors)
    generations = [generation for generation, _ in listed]
    return Reached(max(generations, default=0), sum(records for _, records in listed))


class Verdict(NamedTuple):
    """What the comparison found, all partitions together."""

    records: int
    lost: int
    repeated: int
    different: int  # altered, misplaced, or on the target without ever having been written

    @property
    def right(self) -> bool:
        return not (self.lost or self.repeated or self.different)


def verdict(results: Iterable[Result]) -> Verdict:
    """Add up what was found in each partition."""
    found = [each.comparison for each in results]

    def total(*kinds: Kind) -> int:
        return sum(each.count(kind) for each in found for kind in kinds)

    return Verdict(
        sum(each.source_records for each in found),
        total(Kind.LOST),
        total(Kind.REPEATED),
        total(Kind.DIFFERENT, Kind.OUT_OF_ORDER, Kind.EXTRA),
    )
