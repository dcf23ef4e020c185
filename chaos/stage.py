"""The two clusters of a run: Isthmus uses proxies, writers and the comparison do not."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.application import TestedApplication
from chaos.done import Done
from chaos.proxy import Proxy
from chaos.schedule import Side
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chaos.topics.chaos_topics import ChaosTopic

_HOST = "127.0.0.1"
_HEAP = "256m"
_EAGER = {"log.cleaner.backoff.ms": "1000", "log.retention.check.interval.ms": "2000"}
# Shorter than any freeze of a driver's session, longer than a takeover's pauses between two signs
# of life.
FORGETFUL = {
    "transactional.id.expiration.ms": "20000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    "producer.id.expiration.ms": "15000",
    "producer.id.expiration.check.interval.ms": "1000",
}


@dataclass(slots=True)
class ChaosStage:
    """All that a run starts. Faults of one subject take turns: each holds its lock."""

    root: Path
    brokers: int
    forgetful: bool = False  # whether the target soon forgets the ids of producers
    over: threading.Event = field(default_factory=threading.Event)  # no fault begins any more
    clusters: dict[Side, LocalCluster] = field(default_factory=dict)
    proxies: dict[Side, list[Proxy]] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)  # of the source's topics, now
    done: Done = field(default_factory=Done)
    application: TestedApplication = field(init=False)
    locks: dict[str, threading.Lock] = field(init=False)

    def __post_init__(self) -> None:
        self.application = TestedApplication(self.root / "app")
        names = ("driver", *Side, *(f"network of the {side}" for side in Side))
        self.locks = {name: threading.Lock() for name in names}

    def start(self, topics: Sequence[ChaosTopic]) -> None:
        """Start both clusters, create the topics and write the configuration."""
        for side in Side:
            self._prepare(side)
        with ThreadPoolExecutor() as pool:
            list(pool.map(LocalCluster.start, self.clusters.values()))
        admin = self.admin(Side.SOURCE)
        for each in topics:
            admin.create_topic(each.name, each.partitions, self.brokers, each.configs)
            self.partitions[each.name] = each.partitions
        here, there = (self._through_proxies(side) for side in Side)
        self.application.configure(here, there, self.brokers, topics)

    def servers(self, side: Side) -> str:
        """Return where a cluster is reached without a proxy."""
        return self.clusters[side].bootstrap_servers

    def client(self, side: Side) -> dict[str, str]:
        return {"bootstrap.servers": self.servers(side)}

    def admin(self, side: Side) -> KafkaAdmin:
        return KafkaAdmin(self.client(side))

    def clusters_are_up(self) -> bool:
        """Say whether every broker runs."""
        return all(len(each.running()) == self.brokers for each in self.clusters.values())

    def heal(self) -> None:
        """Let everything work again, whatever was done to it."""
        for each in self._all_proxies():
            each.unblock()
            each.weather.delay_s = each.weather.loss = 0.0
        for cluster in self.clusters.values():
            cluster.start()

    def close(self) -> None:
        """End all processes and proxies. The files stay: they may be needed for a post-mortem."""
        self.application.destroy()
        for cluster in self.clusters.values():
            cluster.stop(grace_s=2.0)
        for each in self._all_proxies():
            each.close()

    def _prepare(self, side: Side) -> None:
        outside = free_ports(self.brokers)
        self.proxies[side] = [Proxy((_HOST, port)) for port in outside]
        ports = [each.address[1] for each in self.proxies[side]]
        properties = dict(_EAGER)
        if self.brokers > 2:
            properties["min.insync.replicas"] = "2"
        if self.forgetful and side is Side.TARGET:
            properties |= FORGETFUL
        self.clusters[side] = LocalCluster(
            str(side),
            self.root / "clusters",
            brokers=self.brokers,
            heap=_HEAP,
            properties=properties,
            fronts=tuple(zip(outside, ports, strict=True)),
        )

    def _through_proxies(self, side: Side) -> str:
        return ",".join(f"{host}:{port}" for host, port in (p.address for p in self.proxies[side]))

    def _all_proxies(self) -> list[Proxy]:
        return [each for proxies in self.proxies.values() for each in proxies]
