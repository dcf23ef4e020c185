"""Keys of MirrorMaker 2 and Connect without effect, and why; others: ``replication.settings``.

Keys with an effect are in the sections of the settings; here are the keys that have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from replication.config.keys.section_keys import known
from replication.settings.setting_key import KeyLevel

if TYPE_CHECKING:
    from datetime import timedelta


class Fate(StrEnum):
    """What becomes of a known key."""

    HONOURED = "honoured"
    NO_EFFECT = "without effect"  # needed for Connect alone, or always on
    LATER = "not implemented in this version"
    REFUSED = "not supported"  # to ignore it would change what is copied


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A known key: the kind of its value, its fate, and why when that needs a reason."""

    kind: str = "string"  # see values.parse
    fate: Fate = Fate.HONOURED
    why: str = ""
    least: int | timedelta | None = None  # see Key


def honoured(level: KeyLevel) -> dict[str, KnownKey]:
    """Return the keys of one level that fields of the sections come from, whole names only."""
    return {
        name: KnownKey(key.kind, least=key.least)
        for name, key in known(level).items()
        if not name.endswith("*")
    }


def _names(text: str) -> list[str]:
    return text.split()


_DRIVER = "set by MirrorMaker 2's own driver"
_CONNECT = "no Connect worker runs here; Spark does that work"
_GROUPS = "groups are listed again in every round"
_EXACT = "copying is always exactly once"
_PLUGIN = "plug-ins written in Java cannot run here"
_N, _L, _R = Fate.NO_EFFECT, Fate.LATER, Fate.REFUSED

CONNECTOR: dict[str, KnownKey] = {
    **honoured(KeyLevel.CONNECTOR),
    "name": KnownKey(fate=_N, why=_DRIVER),
    "connector.class": KnownKey(fate=_N, why=_DRIVER),
    "tasks.max.enforce": KnownKey("boolean", _N, _CONNECT),
    "key.converter": KnownKey(fate=_N, why="bytes are copied unconverted"),
    "value.converter": KnownKey(fate=_N, why="bytes are copied unconverted"),
    "header.converter": KnownKey(fate=_N, why="bytes are copied unconverted"),
    **{
        f"{name}.plugin.version": KnownKey(fate=_N, why=_CONNECT)
        for name in ("connector", "key.converter", "value.converter", "header.converter")
    },
    "metric.names.formats": KnownKey("list", _N, "metrics have names of Isthmus' own"),
    "transforms": KnownKey("list"),
    "predicates": KnownKey("list"),
    "config.action.reload": KnownKey(fate=_N, why="a changed file takes effect when it is loaded"),
    "errors.retry.timeout": KnownKey("int", _N, "an append is retried until the broker answers"),
    "errors.retry.delay.max.ms": KnownKey(
        "interval", _N, "an append is retried until the broker answers"
    ),
    "errors.tolerance": KnownKey("choice none|all", _N, "records are never skipped silently"),
    "errors.log.enable": KnownKey("boolean", _N, "errors are always logged"),
    "errors.log.include.messages": KnownKey("boolean", _N, "records are never logged"),
    "enabled": KnownKey("boolean"),
    "source.cluster.alias": KnownKey(fate=_N, why=_DRIVER),
    "target.cluster.alias": KnownKey(fate=_N, why=_DRIVER),
    "admin.timeout.ms": KnownKey("interval", _N, "admin requests have a time-out of their own"),
    "forwarding.admin.class": KnownKey(fate=_R, why=_PLUGIN),
    "metric.reporters": KnownKey("list", _N, "Isthmus serves its own metrics at metrics.port"),
    "topic.filter.class": KnownKey(fate=_R, why=_PLUGIN),
    "config.property.filter.class": KnownKey(fate=_R, why=_PLUGIN),
    "refresh.topics.enabled": KnownKey(
        "boolean", _N, "new topics are always found, within seconds"
    ),
    "refresh.topics.interval.seconds": KnownKey(
        "interval", _N, "new topics are looked for about every 2 s; this is an upper bound only"
    ),
    "consumer.poll.timeout.ms": KnownKey(
        "interval", _N, "fetches wait at the broker, there is no polling"
    ),
    "offset.lag.max": KnownKey("int", _N, "offsets are exact, not sampled"),
    "group.filter.class": KnownKey(fate=_R, why=_PLUGIN),
    "refresh.groups.enabled": KnownKey("boolean", _N, _GROUPS),
    "refresh.groups.interval.seconds": KnownKey("interval", _N, _GROUPS),
}

# Names of a task's own settings; the driver makes them, no file does.
TASK = {
    "task.assigned.partitions": KnownKey("list", _N, _DRIVER),
    "task.assigned.groups": KnownKey("list", _N, _DRIVER),
    "task.index": KnownKey("int", _N, _DRIVER),
}

# Connect's settings of a source connector that MirrorMaker 2 does not declare: flow level only.
CONNECT_FLOW: dict[str, KnownKey] = {
    "exactly.once.support": KnownKey("choice requested|required", _N, _EXACT),
    "transaction.boundary": KnownKey(fate=_N, why=_EXACT),
    "transaction.boundary.interval.ms": KnownKey("interval", _N, _EXACT),
    "offsets.storage.topic": KnownKey(fate=_N, why="progress is kept in isthmus-anchors.*"),
    "topic.creation.groups": KnownKey("list", _N, "copies are made after their source topic"),
}

TOPIC_CREATION: dict[str, KnownKey] = honoured(KeyLevel.CREATION)

_STORAGE = {
    f"{kind}.storage.{name}": KnownKey(
        "string", _N, "progress, status and settings are kept in isthmus-* topics"
    )
    for kind in ("offset", "status", "config")
    for name in ("topic", "partitions", "replication.factor")
}
# Top-level keys with these beginnings beat the target cluster's own in the worker.
WORKER_FROM_TOP = (
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "replication.policy",
)

WORKER: dict[str, KnownKey] = {
    **_STORAGE,
    **honoured(KeyLevel.WORKER),
    "exactly.once.source.support": KnownKey("choice disabled|preparing|enabled", _N, _EXACT),
    **{
        name: KnownKey(fate=_N, why=_CONNECT)
        for name in _names(
            "client.id connect.protocol offset.flush.interval.ms "
            "offset.flush.timeout.ms scheduled.rebalance.max.delay.ms session.timeout.ms "
            "heartbeat.interval.ms rebalance.timeout.ms task.shutdown.graceful.timeout.ms "
            "worker.sync.timeout.ms worker.unsync.backoff.ms plugin.path plugin.discovery "
            "client.id.prefix connector.client.config.override.policy inter.worker.key.size "
            "inter.worker.key.generation.algorithm inter.worker.key.ttl.ms "
            "inter.worker.signature.algorithm inter.worker.verification.algorithms "
            "admin.listeners rest.extension.classes topic.tracking.enable "
            "topic.tracking.allow.reset header.converter key.converter value.converter "
            "metrics.num.samples metrics.recording.level metrics.sample.window.ms "
            "metric.reporters request.timeout.ms metadata.max.age.ms retry.backoff.ms "
            "connections.max.idle.ms listeners"
        )
    },
}

DRIVER: dict[str, KnownKey] = {
    "clusters": KnownKey("list"),
    "config.providers": KnownKey("list"),
    **{
        name: KnownKey(
            fate=_N, why="no REST server runs; Dagster's pages show and control the flows"
        )
        for name in _names(
            "dedicated.mode.enable.internal.rest listeners rest.advertised.host.name "
            "rest.advertised.port rest.advertised.listener access.control.allow.origin "
            "access.control.allow.methods response.http.headers.config ssl.client.auth"
        )
    },
}

# Names that MirrorMaker 2 once had, or that guides show; the new name wins when both are set.
RENAMED = {
    "topics.blacklist": "topics.exclude",
    "topics.whitelist": "topics",
    "groups.blacklist": "groups.exclude",
    "groups.whitelist": "groups",
    "config.properties.blacklist": "config.properties.exclude",
}
REMOVED = {
    "use.incremental.alter.configs": "settings are always altered one by one",
    "add.source.alias.to.metrics": "metrics always name the source",
}

# Classes that do what we do anyway.
DEFAULT_CLASSES = frozenset(
    {
        "org.apache.kafka.connect.mirror.DefaultTopicFilter",
        "org.apache.kafka.connect.mirror.DefaultConfigPropertyFilter",
        "org.apache.kafka.connect.mirror.DefaultGroupFilter",
        "org.apache.kafka.clients.admin.ForwardingAdmin",
    }
)
POLICIES = {
    "org.apache.kafka.connect.mirror.DefaultReplicationPolicy": "prefix",
    "DefaultReplicationPolicy": "prefix",
    "org.apache.kafka.connect.mirror.IdentityReplicationPolicy": "identity",
    "IdentityReplicationPolicy": "identity",
}
