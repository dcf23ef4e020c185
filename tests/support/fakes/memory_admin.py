"""Clusters in memory that implement ``client.admin.ClusterAdmin``, and the clients of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.acl_values import Acl, Resource
from replication.client.admin import Absence, ConfigValue, SetBy, TopicInfo
from replication.errors import ClusterRejected, ClusterUnavailable, NoAuthorizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from replication.model import TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.state import Stored

DEFAULTS = {"retention.ms": "604800000", "cleanup.policy": "delete", "min.insync.replicas": "1"}
UNRELATED = Acl(Resource("cluster", "kafka-cluster"), "User:admin", "*", "ALL")


@dataclass
class MemoryCluster:
    """Topics and their configs; ``refuses`` are (config, value) that it does not take."""

    counts: dict[str, int] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    brokers: int = 1
    defaults: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    refuses: set[tuple[str, str]] = field(default_factory=set)
    replicas: int = 1
    hidden: set[str] = field(default_factory=set)  # topics whose configs may not be seen
    silent: bool = False
    ids: dict[str, str] = field(default_factory=dict)  # of topics that were recreated
    rights: set[Acl] | None = field(default_factory=lambda: {UNRELATED})  # None: no authorizer
    unloved: set[str] = field(default_factory=set)  # principals that get no rights
    filled: set[str] = field(default_factory=set)  # topics with records
    denied: set[str] = field(default_factory=set)  # topics that may not be described
    lists: list[set[str]] = field(default_factory=list)  # what the next listings show; then: all
    changed: int = 0  # requests that changed rights
    altered: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)

    def cluster_id(self) -> str:
        return f"memory-{id(self):x}"

    def broker_count(self) -> int:
        return self.brokers

    def broker_default(self, name: str) -> str | None:
        return self.defaults.get(name)

    def topics(self, *, another_broker: bool = False) -> Mapping[str, TopicInfo]:
        if self.silent:
            raise ClusterUnavailable("listing the topics at A:9092: no response in time")
        shown = self.lists.pop(0) if self.lists else self.counts.keys()
        return {name: self._info(name) for name in self.counts if name in shown - self.denied}

    def look_up(self, topics: Iterable[str]) -> Mapping[str, TopicInfo | Absence]:
        return {
            name: Absence.DENIED
            if name in self.denied
            else self._info(name)
            if name in self.counts
            else Absence.DELETED
            for name in topics
        }

    def _info(self, name: str) -> TopicInfo:
        return TopicInfo(name, self.ids.get(name, name), self.counts[name], self.replicas)

    def recreate(self, topic: str) -> None:
        self.ids[topic] = "recreated"

    def topic_settings(self, topics: Iterable[str]) -> Mapping[str, Mapping[str, ConfigValue]]:
        return {
            topic: {}
            if topic in self.hidden
            else {
                **{
                    name: ConfigValue(value, SetBy.DEFAULT) for name, value in self.defaults.items()
                },
                **{
                    name: ConfigValue(value, SetBy.TOPIC)
                    for name, value in self.configs.get(topic, {}).items()
                },
            }
            for topic in topics
            if topic in self.counts
        }

    def would_create(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        if bad := self.refuses & set(configs.items()):
            raise ClusterRejected(f"creating topic {name}: {min(bad)[0]} violates a policy")

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        self.would_create(name, partitions, replication_factor, configs)
        self.counts[name] = partitions
        self.configs[name] = dict(configs)

    def grow_topic(self, name: str, total: int) -> None:
        assert total > self.counts[name]
        self.counts[name] = total

    def alter_configs(self, topic: str, changes: Mapping[str, str | None]) -> None:
        self.altered.append((topic, dict(changes)))
        if bad := self.refuses & set(changes.items()):
            raise ClusterRejected(f"altering configs of {topic}: {min(bad)[0]} violates a policy")
        for name, value in changes.items():
            own = self.configs.setdefault(topic, {})
            if value is None:
                own.pop(name, None)
            else:
                own[name] = value

    def acls(self, *, to_change: bool = False) -> set[Acl]:
        if self.rights is None and to_change:
            raise NoAuthorizer("it has no authorizer, so every user is allowed every operation")
        return set(self.rights or ())

    def create_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        return self._change(acls, set.add)

    def delete_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        return self._change(acls, set.discard)

    def _change(self, acls: Iterable[Acl], how: Callable[[set[Acl], Acl], None]) -> dict[Acl, str]:
        self.changed += 1
        refused = {}
        for each in acls:
            if each.principal in self.unloved:
                refused[each] = "principal not allowed"
            else:
                how(self.rights, each)
        return refused

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {each: 5 if each.topic in self.filled else 0 for each in partitions}


class MemoryRecords:
    """State topics of one target."""

    def __init__(self) -> None:
        self.topics: dict[str, dict[bytes, Stored]] = {}
        self.reads: list[str] = []  # topics, in order

    def read(self, topic: str) -> Mapping[bytes, Stored]:
        self.reads.append(topic)
        return self.topics.get(topic, {})

    def read_all(self, topics: Iterable[str]) -> tuple[Stored, ...]:
        return tuple(each for topic in topics for each in self.read(topic).values())

    def write(self, topic: str, *records: Stored) -> None:
        self.topics.setdefault(topic, {}).update((each.key(), each) for each in records)

    def ensure_topics(self, source: str) -> None:
        pass


@dataclass
class MemoryClients:
    """Clusters by alias; implements ``replication.client.admin.Clients``."""

    clusters: Mapping[str, MemoryCluster]
    records: MemoryRecords = field(default_factory=MemoryRecords)

    def source(self, flow: Flow) -> MemoryCluster:
        return self.clusters[flow.source]

    def target(self, flow: Flow) -> MemoryCluster:
        return self.clusters[flow.target]

    def store(self, flow: Flow) -> MemoryRecords:
        return self.records
