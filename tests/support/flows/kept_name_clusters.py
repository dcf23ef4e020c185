"""Clusters that copy to each other under kept names, and the records expected on each."""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from bench.threads import working
from orchestration.flows.comparison.compared_partition import TopicPair
from orchestration.flows.comparison.own_records import FlowRecordFilter
from orchestration.flows.comparison.topic_comparison import Options, TopicComparer
from replication.adapters.topics.state_store import StateStore
from replication.model import Mode
from replication.provenance.routes import Routes
from replication.settings.flow_settings import Flow as ConfiguredFlow
from replication.settings.flow_settings import FlowClients
from replication.settings.naming_settings import Naming
from replication.state import PRODUCERS_TOPIC, ProducerEntry
from support.flows.copier_flows import WAIT_S, Flow, kill, start_unit
from support.records import kafka_records
from support.settings.configs import a_config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from replication.adapters.local.local_kafka import LocalCluster
    from replication.copier.spec import UnitSpec
    from replication.records.comparison_result import Comparison

NOWHERE = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})
Way = tuple[str, str]


def configured(source: str, target: str, **more: object) -> ConfiguredFlow:
    """Return a flow that keeps names."""
    return ConfiguredFlow(
        **{
            "source": source,
            "target": target,
            "naming": Naming(kind="identity"),
            "clients": NOWHERE,
            **more,
        }
    )


@dataclass
class Towards(Flow):
    """A flow that is called as in a file with all of them."""

    target_alias: str = "B"

    @property
    def name(self) -> str:
        return f"{self.alias}->{self.target_alias}"


@dataclass
class Mesh:
    """Flows of one unit each; ``ways`` are ``"AB"`` for a flow from A to B. One topic for all."""

    clusters: dict[str, LocalCluster]
    ways: str
    partitions: int = 2
    configs: dict[str, str] = field(default_factory=dict)
    more: dict[str, object] = field(default_factory=dict)  # of each spec
    settings: dict[str, object] = field(default_factory=dict)  # of each flow
    mode: str = Mode.APPEND
    written: dict[tuple[str, int], list[bytes]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        mark = uuid.uuid4().hex[:6]
        self.topic = f"kept-{mark}"
        self.names = {each: f"{each}{mark}" for each in self.clusters}
        for cluster in self.clusters.values():
            kafka_records.create_topic(
                cluster.bootstrap_servers, self.topic, self.partitions, self.configs
            )
        self.flows = {
            (way[0], way[1]): Towards(
                self.clusters[way[0]],
                self.clusters[way[1]],
                {self.topic: self.partitions},
                alias=self.names[way[0]],
                target_alias=self.names[way[1]],
            )
            for way in self.ways.split()
        }
        self.configured = [
            configured(self.names[one], self.names[two], **self.settings) for one, two in self.flows
        ]
        self.routes = Routes.of(self.configured, list(self.names.values()))

    def spec(self, way: Way, generation: int = 1, epoch: int = 0) -> UnitSpec:
        """Return the spec of a flow's unit, with the rule that the flows' routes give it."""
        rule = self.routes.rule("->".join(self.names[each] for each in way), self.topic)
        spec = self.flows[way].spec(generation, epoch, **self.more)
        plans = tuple(replace(each, origins=rule, mode=self.mode) for each in spec.partitions)
        return replace(spec, partitions=plans, target_is_replicated=True)

    def write(self, where: str, count: int, config: dict[str, object] | None = None) -> None:
        """Produce records on one cluster that say where and in which order they were born."""
        records = []
        for _ in range(count):
            partition = len(records) % self.partitions
            listed = self.written[where, partition]
            value = b"%s %d %d" % (where.encode(), partition, len(listed))
            listed.append(value)
            records.append((partition, b"k%d" % (len(listed) % 7), value))
        kafka_records.produce(self.clusters[where].bootstrap_servers, self.topic, records, config)

    @contextmanager
    def writing(self, *where: str, pause_s: float = 0.05) -> Iterator[None]:
        """Write some records after others on each of the clusters while the block runs."""
        over = threading.Event()

        def feed(one: str) -> None:
            while not over.is_set():
                self.write(one, 20)
                over.wait(pause_s)

        with working(over, *(partial(feed, each) for each in where)):
            yield

    @contextmanager
    def copying(
        self, generation: int = 1, epoch: int = 0, without: Way | None = None, *, settled=True
    ):
        """Copy by all flows while the block runs, and, if ``settled``, until all is everywhere."""
        with ExitStack() as stack:
            for way, flow in self.flows.items():
                if way != without:
                    stack.enter_context(flow.copying(self.spec(way, generation, epoch)))
            yield
            if without is None and settled:
                self.wait_everywhere()

    def killed(self, way: Way, generation: int, tmp_path: Path) -> None:
        """Run one flow's unit in a process of its own, and kill it while it copies."""
        flow = self.flows[way]
        before = sum(each.records for each in flow.anchors().values())
        process = start_unit(self.spec(way, generation), tmp_path)
        flow.wait_for(
            lambda anchors: sum(each.records for each in anchors.values()) > before + 40, "copying"
        )
        kill(process)

    def compared(self, way: Way, *, own: bool) -> list[Comparison]:
        """Compare a flow's topic on both sides; ``own``: only what the flow has to do with."""
        properties = [{"bootstrap.servers": self.clusters[each].bootstrap_servers} for each in way]
        clients = FlowClients(
            source_consumer=properties[0],
            source_admin={},
            target_producer={},
            target_admin=properties[1],
        )
        flow = configured(*(self.names[each] for each in way), clients=clients, **self.settings)
        telling = FlowRecordFilter.for_flow(flow, a_config(*self.configured)) if own else None
        comparer = TopicComparer((properties[0], properties[1]), Options(), telling)
        try:
            work = comparer.plan([TopicPair(self.topic, self.topic)])
            return [comparer.compare(each, lambda _: None).comparison for each in work]
        finally:
            comparer.close()

    def fill_registry(self, where: str, count: int) -> None:
        """Let a cluster's registry know many producer ids of other flows."""
        store = StateStore({"bootstrap.servers": self.clusters[where].bootstrap_servers}, 1)
        for number in range(count):
            entry = ProducerEntry(1 << 40 | number, "x->y", "x", f"isthmus.x->y.{number}")
            store.write(PRODUCERS_TOPIC, entry)
        store.close()

    def wait_compacted(self, where: str) -> None:
        """Wait until compaction has taken most of what was written before, and end it."""
        before, deadline = len(self.read(where)), time.monotonic() + WAIT_S
        while len(self.read(where)) > before // 2:
            assert time.monotonic() < deadline, "nothing was compacted"
            time.sleep(0.5)
            self.write(where, 1)  # so that the last segment is closed
        address = self.clusters[where].bootstrap_servers
        kafka_records.set_config(address, self.topic, "cleanup.policy", "delete")
        while (found := len(self.read(where))) != before:
            before = found
            time.sleep(1.0)  # what was being compacted is done

    def wait_everywhere(self) -> None:
        """Wait until each cluster has all records that were born on those that reach it.

        Records may be there again, where a flow copies at least once.
        """
        deadline = time.monotonic() + WAIT_S
        readers = {each: self.reader(each) for each in self.clusters}
        while time.monotonic() < deadline:
            if all(
                {e.value for e in readers[each].read()} >= {*self.due(each)} for each in readers
            ):
                return
            time.sleep(0.3)
        raise AssertionError(f"not everything arrived: {self.reported()}")

    def reported(self) -> dict[str, str]:
        return {
            each: f"{len({e.value for e in self.read(each)})} of {len(self.due(each))}"
            for each in self.clusters
        }

    def read(self, where: str) -> list[kafka_records.Rec]:
        return self.reader(where).read()

    def reader(self, where: str) -> kafka_records.Reader:
        seen = "read_committed" if self.mode == Mode.TRANSACTIONAL else "read_uncommitted"
        return kafka_records.Reader(self.clusters[where].bootstrap_servers, self.topic, seen)

    def due(self, where: str) -> list[bytes]:
        """Return what must stand on a cluster: all that was born where a way leads from."""
        births = {where}
        while more := {one for one, two in self.flows if two in births} - births:
            births |= more
        return [each for (born, _), some in self.written.items() if born in births for each in some]

    def assert_each_once(self, *, or_again: bool = False) -> None:
        """Compare all clusters: each record once, in the order of its birth; none came home.

        ``or_again``: elsewhere records may have come again.
        """
        for where in self.clusters:
            found: dict[tuple[str, int], list[bytes]] = defaultdict(list)
            for each in self.read(where):
                born = (each.value or b"").decode().split()[0]
                found[born, each.partition].append(each.value or b"")
            came_home = sum(
                len(found[where, n]) - len(self.written[where, n]) for n in range(self.partitions)
            )
            assert came_home == 0, f"{came_home} records came home to {where}"
            births = {value.decode().split()[0] for value in self.due(where)}
            required = {
                (born, n): self.written[born, n] for born in births for n in range(self.partitions)
            }
            if or_again:
                found = {key: list(dict.fromkeys(values)) for key, values in found.items()}
            for key, values in required.items():
                assert found[key] == values, (where, key, len(found[key]), len(values))
            assert {key for key, some in found.items() if some} <= required.keys()
