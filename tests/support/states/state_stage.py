"""A driver whose partitions are brought into every state, as it happens in life."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from replication.model import PartitionState
from replication.state import Anchor, ClusterIds, anchors_topic, offsets_topic, status_topic
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records
from support.security.attack_surface import tree

if TYPE_CHECKING:
    from pathlib import Path

    import psutil

    from replication.adapters.local.local_kafka import LocalCluster
    from support.brokers.secured_broker import Guarded
    from support.network.webhook import Hook

# ``twin`` is B under another name, ``wrong`` another cluster than before, ``late`` a batch flow.
_FILE = """
SOURCE->B.topics.map.file = MAP
SOURCE->B.transform.SOURCE-sql/where = value:n::int >= 0
SOURCE->B.transform.SOURCE-sql/value.format = json
twin.bootstrap.servers = TWIN
wrong.bootstrap.servers = HERE
late.bootstrap.servers = HERE
twin->B.enabled = true
wrong->B.enabled = true
late->B.enabled = true
late->B.mode = batch
topics = nothing
emit.heartbeats.enabled = false
heartbeats.replication.enabled = false
on.lost.range = stop
on.target.foreign = stop
metrics.port = 0
alert.webhook.url = HOOK
"""
_SOON = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.0", "min.compaction.lag.ms": "0"}
_JSON = b'{"n": 1}'
# The topics, and the state of each once it was provoked.
STATES = {
    "good": PartitionState.RUNNING,
    "lost": PartitionState.LOST_RANGE,
    "recreated": PartitionState.SOURCE_RECREATED,
    "truncated": PartitionState.SOURCE_TRUNCATED,
    "corrupt": PartitionState.SOURCE_CORRUPT,
    "reset": PartitionState.TARGET_RESET,
    "foreign": PartitionState.TARGET_FOREIGN,
    "refused": PartitionState.REFUSED,
    "position": PartitionState.POSITION_LOST,
    "sql": PartitionState.TRANSFORM_FAILED,
    "named": PartitionState.NAME_CHANGED,
    "deleted": PartitionState.SOURCE_DELETED,
    "denied": PartitionState.SOURCE_DENIED,
    "unselected": PartitionState.NOT_SELECTED,
    "waiting": PartitionState.WAITING,
}


class StateStage:
    """A driver between two clusters of its own, with a topic for each state of ``STATES``."""

    def __init__(self, source: Guarded, target: LocalCluster, home: Path, hook: Hook) -> None:
        self.source, self.target = source, target
        self.here, self.there = source.everyone, target.bootstrap_servers
        home.mkdir()
        self._map = home / "names.map"
        self._map.write_text("other = another-name\n")
        values = {
            "MAP": str(self._map),
            "TWIN": self.there.replace("127.0.0.1", "localhost"),
            "HERE": self.here,
            "HOOK": hook.url,
        }
        more = _FILE
        for name, value in values.items():
            more = more.replace(name, value)
        logins = source.login("driver"), {"bootstrap.servers": self.there}
        self.app = Application(source.cluster, target, home, more, logins)
        self.app.config.write_text(
            self.app.config.read_text().replace(
                f"clusters = {self.app.alias}, B",
                f"clusters = {self.app.alias}, twin, wrong, late, B",
            )
        )
        self.topics = {name: f"{self.app.alias}-{name}" for name in STATES}
        for name, topic in self.topics.items():
            kafka_records.create_topic(self.here, topic)
            self._feed(name, _JSON)
        for kind, what in (("TOPIC", "*"), ("GROUP", "*"), ("BROKER", "kafka-cluster")):
            self._rule(AclPermissionType.ALLOW, ResourceType[kind], what)
        self.app.store.ensure_topics("wrong")
        self.app.store.write(status_topic("wrong"), ClusterIds("wrong->B", "another-cluster"))

    def await_copied(self) -> None:
        """Wait for all topics, two of which then get what their states need."""
        wait_for(lambda: all(self._copied(each) == 1 for each in STATES))
        for name in ("truncated", "position"):
            self._feed(name, _JSON)
        wait_for(lambda: self._copied("truncated") == self._copied("position") == 2)

    def provoke(self) -> None:
        """Bring about all states that a flow finds when it is resumed. Call it while it rests."""
        self._cut("truncated")
        for name in ("lost", "corrupt"):
            self._feed(name, *[b"x" * 100] * 3)
        kafka_records.delete_records(self.here, self.topics["lost"], {0: 3})
        self._damage(self.source.cluster, self.topics["corrupt"])
        self._recreate(self.here, self.topics["recreated"])
        self._recreate(self.there, self._copy("reset"))
        self._alter(self._copy("refused"), {"max.message.bytes": "2000"})
        self._forget("position", "waiting")
        self._damage(self.target, self._copy("waiting"))
        self._feed("refused", b"x" * 5000)
        self._feed("sql", b"no JSON")
        for name in ("recreated", "reset", "position"):
            self._feed(name, _JSON)
        kafka_records.delete_topics(self.here, self.topics["deleted"])
        self._rule(AclPermissionType.DENY, ResourceType.TOPIC, self.topics["denied"])
        self._map.write_text(f"{self.topics['named']} = another-name\n")
        more = f"topics.exclude = .*internal, {self.topics['unselected']}\n"
        self.app.config.write_text(self.app.config.read_text() + more)

    def write_beside(self) -> None:
        """Write to a copy between two of our appends."""
        self._feed("foreign", _JSON)
        wait_for(lambda: self._copied("foreign") == 2)
        kafka_records.produce(self.there, self._copy("foreign"), [(0, b"k", b"foreign")])
        self._feed("foreign", _JSON)

    def units(self) -> list[psutil.Process]:
        """Return the processes that copy."""
        found = tree(self.app.drivers[-1].pid)
        return [each for each in found if "spark_jobs.source.worker_daemon" in each.cmdline()]

    def _feed(self, name: str, *values: bytes) -> None:
        """Produce records of one time: of equal ones, none has a place of its own."""
        rows = [(0, b"k", each, [], 1_700_000_000_000) for each in values]
        kafka_records.produce(self.here, self.topics[name], rows, {"linger.ms": 0})

    def _copy(self, name: str) -> str:
        return f"{self.app.alias}.{self.topics[name]}"

    def _copied(self, name: str) -> int:
        anchors = self.app.state(anchors_topic(self.app.alias)).values()
        mine = (e for e in anchors if isinstance(e, Anchor) and e.topic == self.topics[name])
        return next((each.source or 0 for each in mine), 0)

    def _log(self, cluster: LocalCluster, topic: str) -> Path:
        return cluster.home / "broker-1" / "data" / f"{topic}-0" / f"{0:020}.log"

    def _cut(self, name: str) -> None:
        """Lose all batches but the first of a log, as a broker does that loses its power."""
        self.source.cluster.kill()
        log = self._log(self.source.cluster, self.topics[name])
        with log.open("r+b") as file:
            file.truncate(12 + int.from_bytes(log.read_bytes()[8:12], "big"))
        self.source.cluster.start_broker(1)

    def _damage(self, cluster: LocalCluster, topic: str) -> None:
        """Flip bits of the last batch of a log."""
        with self._log(cluster, topic).open("r+b") as log:
            at = log.seek(-2, 2)
            bits = log.read(1)[0]
            log.seek(at)
            log.write(bytes([bits ^ 0x55]))

    def _forget(self, *names: str) -> None:
        """Delete what the target knows of the positions of topics, for good, and what units know.

        A process that has copied remembers them, and Spark may give it a unit again.
        """
        units = self.units()
        for each in units:
            if each.ppid() in {
                other.pid for other in units
            }:  # not Spark's daemon, which forks them
                each.kill()
        lost = {self.topics[each] for each in names}
        for topic in (anchors_topic(self.app.alias), offsets_topic(self.app.alias)):
            found = self.app.state(topic).values()
            mine = [each for each in found if getattr(each, "topic", "") in lost]
            keys = {each.key() for each in mine}
            self._alter(topic, _SOON)
            self.app.store.remove(topic, *mine)
            for _ in range(2):  # only what is behind the active segment is compacted
                time.sleep(0.2)
                self.app.store.write(topic, next(e for e in found if e not in mine))
            wait_for(lambda topic=topic, keys=keys: not self._has(topic, keys))

    def _has(self, topic: str, keys: set[bytes]) -> bool:
        read = kafka_records.consume_all(self.there, topic)
        return any(each.key in keys and each.value for each in read)

    def _recreate(self, bootstrap: str, topic: str) -> None:
        kafka_records.delete_topics(bootstrap, topic)
        kafka_records.create_topic(bootstrap, topic)

    def _alter(self, topic: str, values: dict[str, str]) -> None:
        """Set configs of a topic of the target."""
        for name, value in values.items():
            kafka_records.set_config(self.there, topic, name, value)

    def _rule(self, permission: AclPermissionType, kind: ResourceType, name: str) -> None:
        """Allow the driver's user everything on a resource of the source, or nothing."""
        whole, literal = AclOperation.ALL, ResourcePatternType.LITERAL
        acl = AclBinding(kind, name, literal, "User:driver", "*", whole, permission)
        client = AdminClient({"bootstrap.servers": self.here, **kafka_records.QUIET})
        for answer in client.create_acls([acl]).values():
            answer.result(60)
