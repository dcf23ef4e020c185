"""Flows without clusters: state topics in memory, processes as flags."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.dagster.resources import Isthmus
from orchestration.flows.observation.flow_reader import look_here
from orchestration.flows.observation.lag_watch import LagWatch
from orchestration.services.state_directory import StateDirectory
from replication.adapters.followed_file import FileInForce
from replication.config.changes import fingerprint
from replication.config.load import Loaded
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import PartitionState, TopicPartition
from replication.state import Anchor, ClusterIds, FlowStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Stored
    from replication.supervision.driver_supervision import Application


class MemoryStore:
    """State topics of one target."""

    def __init__(self) -> None:
        self.topics: dict[str, dict[bytes, Stored]] = {}
        self.silent = False
        self.id = "id-b"

    def read(self, topic: str, kind: type[Stored] | None = None) -> Mapping[bytes, Stored]:
        if self.silent:
            raise ClusterUnavailable("reading state at B:9092: connection refused")
        found = self.topics.get(topic, {})
        return {k: each for k, each in found.items() if kind is None or isinstance(each, kind)}

    def read_all(self, topics: Iterable[str]) -> tuple[Stored, ...]:
        return tuple(each for topic in topics for each in self.read(topic).values())

    def write(self, topic: str, *records: Stored) -> None:
        self.topics.setdefault(topic, {}).update((each.key(), each) for each in records)

    def ensure_topics(self, source: str) -> None:
        pass

    def cluster_id(self) -> str:
        return self.id

    def reconnect(self) -> None:
        pass


class MemorySource:
    """End offsets of one source."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.silent = False
        self.denied: set[str] = set()  # topics that our user may not describe
        self.id = "id-a"

    def cluster_id(self) -> str:
        return self.id

    def reconnect(self) -> None:
        pass

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        if self.silent:
            raise ClusterUnavailable("reading end offsets at A:9092: connection refused")
        if self.denied & {each.topic for each in partitions}:
            raise ClusterRejected("reading end offsets at A:9092: Topic authorization failed")
        return {each: self.ends[each] for each in partitions if each in self.ends}


class World:
    """Everything that a plant looks at; the same store and source for every flow."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.read_ms = 1
        self.changes: tuple[str, ...] = ()  # by the last edit of the file
        self.problem = ""  # why the file's present content is not in force
        self.target = MemoryStore()
        self.origin = MemorySource()
        self.local: dict[str, ClusterIds] = {}
        self.watched: set[str] = set()
        self.driven: set[str] = set()
        self.acted_on: set[str] = set()
        self.acted_until = 0.0
        self.started: list[str] = []
        self.stopped: list[str] = []
        self.state_directory = StateDirectory(Path("/nowhere"))
        self.watch = LagWatch()

    @property
    def reading(self) -> FileInForce:
        """The settings in force; only their content matters here."""
        loaded = Loaded(self.config, (), {})
        return FileInForce(loaded, fingerprint(loaded), self.read_ms, self.problem, self.changes)

    def store(self, flow: Flow) -> MemoryStore:
        return self.target

    def source(self, flow: Flow) -> MemorySource:
        return self.origin

    def watcher_alive(self, app: Application) -> bool:
        return app.name in self.watched

    def driver_alive(self, app: Application) -> bool:
        return app.name in self.driven

    def stopped_ms(self, app: Application) -> int:
        return 0

    def cluster_ids(self, app: Application, flow: Flow) -> ClusterIds:
        return self.local.get(flow.name, ClusterIds(flow.name))

    def is_acted_on(self, app: Application) -> bool:
        return app.name in self.acted_on

    def acted_at(self, app: Application) -> float:
        return self.acted_until

    @contextmanager
    def acting(self, app: Application) -> Iterator[None]:
        yield

    def start(self, app: Application) -> World:
        self.started.append(app.name)
        return self

    def stop(self, app: Application) -> None:
        self.stopped.append(app.name)

    @property
    def pid(self) -> int:
        return 4711

    def alive(self) -> bool:
        """Say, as the process that ``start`` returned: it ended at once."""
        return False

    def copy(self, records: int, end: int, age_s: float = 0, **status: object) -> None:
        """Pretend that A->B copied so many records of orders-0, ``age_s`` ago."""
        now_ms = int((time.time() - age_s) * 1000)
        name = self.config.flows[0].name
        known = {"host": "elsewhere", "pid": 7, "beat_ms": now_ms, "partitions": 1, **status}
        self.target.write(
            "isthmus-status.A.internal",
            FlowStatus(name, **{"state": "RUNNING", "started_ms": now_ms, **known}),
        )
        anchor = Anchor(
            name, "orders", 0, "A.orders", records, records, records=records, at_ms=now_ms,
            state=PartitionState.RUNNING,
        )  # fmt: skip
        self.target.write("isthmus-anchors.A.internal", anchor)
        self.origin.ends[TopicPartition("orders", 0)] = end


_WORLDS: dict[str, World] = {}  # Dagster copies a resource: what it is to share has a name


class FakeIsthmus(Isthmus):
    """The plant over a world; ``of`` makes one."""

    @classmethod
    def of(cls, world: World) -> FakeIsthmus:
        _WORLDS[str(id(world))] = world
        return cls(config_path=str(id(world)), home_path="/nowhere")

    @property
    def world(self) -> World:
        return _WORLDS[self.config_path]

    def reading(self):
        return self.world.reading

    def clusters(self):
        return self.world

    def launcher(self):
        return self.world

    def lag(self, look):
        return self.world.watch.lag(look)

    def look(self, flows):
        return [look_here(flow, app, self.world, self.world) for flow, app in flows]
