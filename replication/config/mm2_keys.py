"""Every setting of MirrorMaker 2 and of Connect below it, and what becomes of it here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    """What becomes of a known key."""

    HONOURED = "honoured"
    NO_EFFECT = "without effect"  # needed for Connect alone, or always on
    LATER = "not carried out by this version"
    REFUSED = "not supported"  # passing it over would change what is copied


@dataclass(frozen=True, slots=True)
class Key:
    """A known key: the kind of its value, its fate, and why when that needs a reason."""

    kind: str = "string"  # list, patterns, boolean, int, port, seconds, ms, bytes, choice a|b
    fate: Fate = Fate.HONOURED
    why: str = ""
    default: str | None = None


def _names(text: str) -> list[str]:
    return text.split()


_DRIVER = "set by MirrorMaker 2's own driver"
_CONNECT = "no Connect worker runs here; Spark does that work"
_GROUPS = "groups are listed anew in every round"
_EXACT = "copying is always exactly once"
_PLUGIN = "plug-ins written in Java cannot run here"
_N, _L, _R = Fate.NO_EFFECT, Fate.LATER, Fate.REFUSED

CONNECTOR: dict[str, Key] = {
    "name": Key(fate=_N, why=_DRIVER),
    "connector.class": Key(fate=_N, why=_DRIVER),
    "tasks.max": Key("int", default="1"),
    "tasks.max.enforce": Key("boolean", _N, _CONNECT),
    "key.converter": Key(fate=_N, why="bytes are copied unconverted"),
    "value.converter": Key(fate=_N, why="bytes are copied unconverted"),
    "header.converter": Key(fate=_N, why="bytes are copied unconverted"),
    "transforms": Key("list", _R, "records are copied unchanged"),
    "predicates": Key("list", _R, "records are copied unchanged"),
    "config.action.reload": Key(fate=_N, why="a changed file takes effect when it is loaded"),
    "errors.retry.timeout": Key("int", _N, "an append is retried until the broker answers"),
    "errors.retry.delay.max.ms": Key("ms", _N, "an append is retried until the broker answers"),
    "errors.tolerance": Key("choice none|all", _N, "records are never skipped in silence"),
    "errors.log.enable": Key("boolean", _N, "errors are always logged"),
    "errors.log.include.messages": Key("boolean", _N, "records are never logged"),
    "enabled": Key("boolean", default="false"),
    "source.cluster.alias": Key(fate=_N, why=_DRIVER),
    "target.cluster.alias": Key(fate=_N, why=_DRIVER),
    "admin.timeout.ms": Key("ms", _N, "admin requests have a time-out of their own"),
    "replication.policy.class": Key(),
    "replication.policy.separator": Key(default="."),
    "replication.policy.internal.topic.separator.enabled": Key("boolean", default="true"),
    "forwarding.admin.class": Key(fate=_R, why=_PLUGIN),
    "metric.reporters": Key(
        "list", _N, "measurements are published by Isthmus itself, where metrics.port says"
    ),
    "topics": Key("patterns"),
    "topics.exclude": Key("patterns"),
    "topic.filter.class": Key(fate=_R, why=_PLUGIN),
    "config.properties.exclude": Key("patterns"),
    "config.property.filter.class": Key(fate=_R, why=_PLUGIN),
    "use.defaults.from": Key("choice source|target", default="target"),
    "replication.factor": Key("int", default="2"),
    "refresh.topics.enabled": Key("boolean", _N, "new topics are always found, within seconds"),
    "refresh.topics.interval.seconds": Key(
        "seconds", _N, "new topics are looked for about every 2 s; this is an upper bound only"
    ),
    "sync.topic.configs.enabled": Key("boolean", default="true"),
    "sync.topic.configs.interval.seconds": Key("seconds", default="600"),
    "sync.topic.acls.enabled": Key("boolean", default="true"),
    "sync.topic.acls.interval.seconds": Key("seconds", default="600"),
    "consumer.poll.timeout.ms": Key("ms", _N, "fetches wait at the broker, there is no polling"),
    "offset.lag.max": Key("int", _N, "offsets are exact, not sampled"),
    "offset-syncs.topic.replication.factor": Key("int", default="3"),
    "offset-syncs.topic.location": Key("choice source|target", default="source"),
    "emit.offset-syncs.enabled": Key("boolean", default="false"),
    "heartbeats.replication.enabled": Key("boolean", default="true"),
    "groups": Key("patterns"),
    "groups.exclude": Key("patterns"),
    "group.filter.class": Key(fate=_R, why=_PLUGIN),
    "refresh.groups.enabled": Key("boolean", _N, _GROUPS),
    "refresh.groups.interval.seconds": Key("seconds", _N, _GROUPS),
    "emit.checkpoints.enabled": Key("boolean", default="true"),
    "emit.checkpoints.interval.seconds": Key("seconds", default="60"),
    "sync.group.offsets.enabled": Key("boolean", default="false"),
    "sync.group.offsets.interval.seconds": Key("seconds", default="5"),
    "checkpoints.topic.replication.factor": Key("int", default="3"),
    "emit.heartbeats.enabled": Key("boolean", default="true"),
    "emit.heartbeats.interval.seconds": Key("seconds", default="1"),
    "heartbeats.topic.replication.factor": Key("int", default="3"),
}

# Names of a task's own settings; the driver makes them, no file does.
TASK = {
    "task.assigned.partitions": Key("list", _N, _DRIVER),
    "task.assigned.groups": Key("list", _N, _DRIVER),
    "task.index": Key("int", _N, _DRIVER),
}

# Connect's settings of a source connector that MirrorMaker 2 does not declare: flow level only.
CONNECT_FLOW: dict[str, Key] = {
    "exactly.once.support": Key("choice requested|required", _N, _EXACT),
    "transaction.boundary": Key(fate=_N, why=_EXACT),
    "transaction.boundary.interval.ms": Key("ms", _N, _EXACT),
    "offsets.storage.topic": Key(fate=_N, why="progress is kept in isthmus-anchors.*"),
    "topic.creation.groups": Key("list", _N, "copies are made after their source topic"),
}

TOPIC_CREATION: dict[str, Key] = {
    "topic.creation.enable": Key("boolean"),
    "topic.creation.replication.factor": Key("int"),
    "topic.creation.default.replication.factor": Key("int"),
    "topic.creation.default.partitions": Key("int"),
    "topic.creation.min.insync.replicas": Key("int"),
}

_STORAGE = {
    f"{kind}.storage.{name}": Key(
        "string", _N, "progress, status and settings are kept in isthmus-* topics"
    )
    for kind in ("offset", "status", "config")
    for name in ("topic", "partitions", "replication.factor")
}
_STORAGE["offset.storage.replication.factor"] = Key("int")
_STORAGE["offset.storage.topic"] = Key()  # where a takeover from MirrorMaker 2 finds its positions

WORKER: dict[str, Key] = {
    **_STORAGE,
    "group.id": Key(),  # who is in it shows whether MirrorMaker 2 runs
    "exactly.once.source.support": Key("choice disabled|preparing|enabled", _N, _EXACT),
    **{
        name: Key(fate=_N, why=_CONNECT)
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

DRIVER: dict[str, Key] = {
    "clusters": Key("list"),
    "config.providers": Key("list"),
    **{
        name: Key(fate=_N, why="no REST server runs; Dagster's pages show and control the flows")
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
    "add.source.alias.to.metrics": "measurements always name the source",
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
