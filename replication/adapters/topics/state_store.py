"""Creates, reads and writes Isthmus' own topics on a target cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.state_producer import StateProducer
from replication.adapters.topics.state_tail import StateTail
from replication.client.admin import Absence
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.state import (
    COMPACT,
    PROBE_TOPIC,
    PRODUCERS_TOPIC,
    Stored,
    dead_letters_topic,
    flow_topics,
    losing_policy,
    parse,
    parse_only,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.client.cluster_ids import Verify

_PATIENCE_S = 10.0
_POLL_S = 0.05
# A flow writes a few records a second: the topics stay small only if their segments are rolled
# and cleaned soon. Nothing younger than a minute is compacted, so that a follower of a topic
# sees every record of the last minute: the lease counts on it.
_CONFIGS = {
    "cleanup.policy": COMPACT,
    # The broker's own time: it would reject records of a clock that is an hour ahead.
    "message.timestamp.type": "LogAppendTime",
    "segment.bytes": str(16 << 20),
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
    "min.compaction.lag.ms": "60000",
    "delete.retention.ms": "600000",
}
_PROBE = {"cleanup.policy": "delete", "retention.ms": "3600000", "segment.ms": "3600000"}
_LETTERS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",  # they are the only copy
    "max.message.bytes": str(64 << 20),  # what is too large elsewhere finds room here
}


class StateStore:
    """Isthmus' own topics on one cluster. ``client`` holds librdkafka's settings.

    Every call ends within about 10 s. Raises ClusterUnavailable or ClusterRejected, which name
    the topic and the cluster's address. ``verify``: as for KafkaAdmin, and the producer is asked
    too before it writes; ``post`` does not wait for an answer, and trusts the last answer.
    With ``reads_any`` what another cluster says is returned, but not followed.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        replication_factor: int,
        *,
        verify: Verify | None = None,
        reads_any: bool = False,
    ) -> None:
        self._client = client
        self._verify, self._read_verify = verify, None if reads_any else verify
        self._address = client["bootstrap.servers"]
        self._replication_factor = replication_factor
        self._admin = KafkaAdmin(client, verify=verify, reads_any=reads_any)
        self._producer = StateProducer(client, verify)

    @property
    def last_error(self) -> str | None:
        """Why the last post failed, until one succeeds."""
        return self._producer.last_error

    def ensure_topics(self, source: str) -> None:
        """Create the state topics of the flows from ``source``; return when each has a leader.

        Raises ClusterRejected where an existing one would lose state (its cleanup.policy) or may
        not be created, ClusterUnavailable where the target does not answer.
        """
        names = {*flow_topics(source), PRODUCERS_TOPIC}
        missing = names - self._admin.topic_names()
        self._check(names - missing)
        self._create(missing)
        deadline = time.monotonic() + _PATIENCE_S
        expected = {TopicPartition(name, 0) for name in names}
        while leaderless := expected - set(self._admin.end_offsets(expected)):
            if time.monotonic() > deadline:
                first = min(leaderless)
                raise ClusterUnavailable(
                    f"preparing {first.topic} at {self._address}: it has no leader"
                )
            time.sleep(_POLL_S)
            # One that was listed may have been deleted before. It asks for all metadata, too: else
            # the client would keep "no leader".
            self._create(names - self._admin.topic_names())

    def _create(self, names: Collection[str]) -> None:
        if names:
            replicas = self._replicas()
            for name in sorted(names):
                self._admin.create_topic(name, 1, replicas, _CONFIGS)

    def _check(self, names: Iterable[str]) -> None:
        """Look at topics that are there; where their configs may not be seen they are trusted."""
        for name, settings in sorted(self._admin.topic_settings(names).items()):
            policy = settings.get("cleanup.policy")
            if problem := losing_policy(policy.value if policy else None):
                raise ClusterRejected(f"topic {name} at {self._address} {problem}")

    def ensure_dead_letters(self, source: str) -> None:
        """Create the dead-letter topic of ``source`` unless it is there."""
        self._ensure(dead_letters_topic(source), _LETTERS)

    def ensure_probe(self) -> None:
        """Create the topic for trying appends unless it is there."""
        self._ensure(PROBE_TOPIC, _PROBE)

    def _ensure(self, name: str, configs: Mapping[str, str]) -> None:
        if name not in self._admin.topic_names():
            self._admin.create_topic(name, 1, self._replicas(), configs)

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers, be it the right one or not."""
        return self._admin.cluster_id()

    def reconnect(self) -> None:
        """Forget the brokers that the clients have learned: the next call asks the address."""
        self._admin.reconnect()
        self._producer.close()

    def read(self, topic: str) -> dict[bytes, Stored]:
        """Return the newest record of every key; empty when there is no such topic.

        Raises ClusterUnavailable where it has no leader: what it holds is not known then.
        """
        return self._newest(topic) if self.exists(topic) else {}

    def exists(self, topic: str) -> bool:
        """Say whether there is such a topic.

        Raises ClusterUnavailable where it has no leader, ClusterRejected where our user may not
        see it. What follows from "there is none" would be wrong then: that nothing was copied yet,
        that nobody stopped the flow, that no cluster is open for clients.
        """
        first = TopicPartition(topic, 0)
        if first in self._admin.end_offsets([first]):
            return True
        found = self._admin.look_up([topic])[topic]
        if found is Absence.DELETED:
            return False
        doing = f"reading {topic} at {self._address}"
        if found is Absence.DENIED:
            raise ClusterRejected(f"{doing}: not authorized: allow DESCRIBE and READ on it")
        raise ClusterUnavailable(f"{doing}: it has no leader")

    def read_all(self, topics: Collection[str]) -> tuple[Stored, ...]:
        """Return the newest record of every key of several topics that exist, by one client."""
        return tuple(self._newest(*topics).values()) if topics else ()

    def _newest(self, *topics: str) -> dict[bytes, Stored]:
        tail = StateTail(self._client, self._admin, *topics, verify=self._read_verify)
        try:
            return {each.key(): each for each in tail.catch_up()}
        finally:
            tail.close()

    def tail(self, topic: str, kind: type[Stored] | None = None) -> StateTail:
        """Follow ``topic`` from its beginning; records of another ``kind`` are left out."""
        read = parse_only(kind) if kind else parse
        admin = KafkaAdmin(self._client, verify=self._verify)  # ours may read any cluster
        return StateTail(self._client, admin, topic, read=read, verify=self._verify)

    def write(self, topic: str, *records: Stored) -> None:
        """Write in order and wait until all replicas in sync have it."""
        self._admin.require_same()
        self._producer.write(topic, [(each.key(), each.value()) for each in records])

    def remove(self, topic: str, *records: Stored) -> None:
        """Write tombstones: compaction deletes the records of these keys."""
        self._admin.require_same()
        self._producer.write(topic, [(each.key(), None) for each in records])

    def post(self, topic: str, record: Stored) -> None:
        """Write without waiting; ``last_error`` tells later whether it failed."""
        self._producer.post(topic, record)

    def close(self) -> None:
        """Send what is waiting, for at most a second, and forget the rest."""
        self._producer.close()

    def _replicas(self) -> int:
        return max(1, min(self._replication_factor, self._admin.broker_count()))
