"""Kafka clients of a configuration's clusters, created once per process and reused.

A new client costs threads, a TLS handshake and a login, and reading a topic from its beginning
costs its size; a sensor that did so every tick would be the busiest client of a quiet cluster. The
Kafka libraries are imported on first use.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from replication.errors import ClusterUnavailable, ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from orchestration.flows.observation.clients import Ends, ObservedStore
    from replication.adapters.admin.kafka_admin import KafkaAdmin
    from replication.adapters.topics.state_store import StateStore
    from replication.adapters.topics.state_tail import StateTail
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Stored

    Properties = tuple[tuple[str, str], ...]
    TopicAndKind = tuple[str, type[Stored] | None]  # a topic, and the kind of its records

REREAD_S = 60.0  # interval of complete reads: a topic that was recreated starts at 0
BUSY_S = 12.0  # a little longer than one call can take


class KafkaClusters:
    """The real clusters of a file; a look asks them. ``require``: as for KafkaClients."""

    def __init__(self, require: Callable[[str], None] = lambda _: None) -> None:
        self._require = require
        self._stores: dict[Properties, FollowingStore] = {}
        self._admins: dict[Properties, KafkaAdmin] = {}
        self._used: dict[tuple[str, str], Properties] = {}  # by flow, and which of its clusters

    def store(self, flow: Flow) -> ObservedStore:
        """Return the store on the flow's target."""
        self._require(flow.target)
        from replication.adapters.auth.client_config import to_librdkafka  # noqa: PLC0415 - see module
        from replication.adapters.topics.state_store import StateStore  # noqa: PLC0415 - see module

        properties = flow.clients.target_admin
        key = self._use((flow.name, "target"), properties)
        if key not in self._stores:
            store = StateStore(to_librdkafka(properties), flow.state_replication_factor)
            self._stores[key] = FollowingStore(store)
        return self._stores[key]

    def source(self, flow: Flow) -> Ends:
        """Return the admin client of the flow's source."""
        self._require(flow.source)
        properties = flow.clients.source_admin
        return self._admin(self._use((flow.name, "source"), properties), properties)

    def _use(self, by: tuple[str, str], properties: Mapping[str, str]) -> Properties:
        """Return the properties' key; forget clients whose properties no flow has any more.

        The file may have been edited. A client with a former password would go on to log in.
        """
        key = _key(properties)
        if self._used.get(by) != key:
            self._used[by] = key
            for unused in (self._stores.keys() | self._admins.keys()) - {*self._used.values()}:
                self._stores.pop(unused, None)
                self._admins.pop(unused, None)
        return key

    def _admin(self, key: Properties, properties: Mapping[str, str]) -> KafkaAdmin:
        from replication.adapters.admin.kafka_admin import KafkaAdmin  # noqa: PLC0415 - see module
        from replication.adapters.auth.client_config import to_librdkafka  # noqa: PLC0415 - see module

        if key not in self._admins:
            self._admins[key] = KafkaAdmin(to_librdkafka(properties))
        return self._admins[key]


class FollowingStore:
    """A StateStore that keeps the records it read, and then reads only new ones."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._tails: dict[TopicAndKind, tuple[StateTail, float]] = {}  # with the time when it began
        self._known: dict[TopicAndKind, dict[bytes, Stored]] = {}
        self._lock = threading.Lock()

    def read(self, topic: str, kind: type[Stored] | None = None) -> Mapping[bytes, Stored]:
        """Return the newest record of every key, of one ``kind`` if that is given.

        Empty when there is no such topic. Raises ClusterUnavailable where it has no leader.
        """
        topic_and_kind = topic, kind
        if not self._lock.acquire(timeout=BUSY_S):
            raise ClusterUnavailable(
                f"reading {topic}: an earlier read of it has not finished in {BUSY_S:g} s; its "
                "cluster does not answer, or slowly"
            )
        try:
            tail = self._tail(topic_and_kind)
            if tail is None:
                return {}
            known = self._known[topic_and_kind]
            known.update((each.key(), each) for each in tail.catch_up())
            return dict(known)
        except ReplicationError:
            self._forget(topic_and_kind)
            raise
        finally:
            self._lock.release()

    def write(self, topic: str, *records: Stored) -> None:
        """Append the records in order; return when all are acked.

        Raises ClusterUnavailable or ClusterRejected; some of the records may be written then.
        """
        self._store.write(topic, *records)

    def ensure_topics(self, source: str) -> None:
        """Create the topics of the flows from ``source`` if they are not there."""
        self._store.ensure_topics(source)

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers."""
        return self._store.cluster_id()

    def reconnect(self) -> None:
        """Forget what was read, and the brokers that the clients have learned."""
        self._store.reconnect()
        if not self._lock.acquire(timeout=BUSY_S):
            return  # the read that has not finished fails, and forgets by itself
        try:
            for each in list(self._tails):
                self._forget(each)
        finally:
            self._lock.release()

    def _tail(self, topic_and_kind: TopicAndKind) -> StateTail | None:
        tail, began = self._tails.get(topic_and_kind, (None, 0.0))
        if tail is not None and time.monotonic() - began < REREAD_S:
            return tail
        self._forget(topic_and_kind)
        if not self._store.exists(topic_and_kind[0]):
            return None
        self._tails[topic_and_kind] = (self._store.tail(*topic_and_kind), time.monotonic())
        self._known[topic_and_kind] = {}
        return self._tails[topic_and_kind][0]

    def _forget(self, topic_and_kind: TopicAndKind) -> None:
        tail, _ = self._tails.pop(topic_and_kind, (None, 0.0))
        if tail is not None:
            tail.close()


def _key(properties: Mapping[str, str]) -> Properties:
    return tuple(sorted(properties.items()))


def read_config(file: Path) -> Config:
    """Return the checked configuration. Raises ConfigError with all problems at once."""
    from replication.config.load import load_config  # noqa: PLC0415 - pydantic, on first use

    return load_config(file).config
