"""Settings that are Isthmus' own, and the looser spellings that guides show."""

from __future__ import annotations

from replication.config.mm2_keys import Key

# Allowed at top level and per flow.
FLOW: dict[str, Key] = {
    "lag.sla.seconds": Key("seconds", default="60"),
    "copy.buffer.bytes": Key("bytes", default=str(64 << 20)),
    "copy.epoch.seconds": Key("seconds", default="30"),
    "copy.anchor.interval.ms": Key("ms", default="1000"),
    "copy.start": Key("start"),
    "copy.start.offsets": Key("start-offsets"),
    "copy.max.bytes.per.second": Key("bytes"),
    "copy.priority.topics": Key("patterns"),
    "copy.delivery": Key("choice auto|append|transactional|at-least-once", default="auto"),
    "on.lost.range": Key("choice continue|stop", default="continue"),
    "on.source.recreated": Key("choice continue|stop", default="stop"),
    "on.source.truncated": Key("choice continue|stop", default="stop"),
    "on.target.reset": Key("choice continue|reseed|stop", default="stop"),
    "on.target.foreign": Key("choice continue|stop", default="continue"),
    "on.target.exists": Key("choice continue|stop", default="stop"),
    "on.refused": Key("choice skip|stop", default="stop"),
    "cycle.prevention": Key("choice producer-id|headers|names", default="producer-id"),
    "provenance.headers": Key("boolean", default="false"),
    "dead.letters.enabled": Key("boolean", default="false"),
    "isthmus.topics.replication.factor": Key("int", default="3"),
    "sync.topic.configs.strategy": Key("choice INTERSECTION|MAJORITY|FIRST|NONE"),
    "sync.topic.acls.delete": Key("boolean", default="false"),
    "sync.group.acls.enabled": Key("boolean", default="false"),
    "topics.regex": Key("patterns"),
    "topics.map.file": Key(),
    "topics.merge": Key("patterns"),
    "topics.rename.regex": Key(),
    "topics.rename.replacement": Key(),
}

# ``topic.config.<topic regex>/<config> = value``: at top level and per flow.
TOPIC_CONFIG = "topic.config."

# Top level only. ``spark.conf.<k>`` passes any k on to Spark.
TOP: dict[str, Key] = {
    "spark.master": Key(default="local[*]"),
    "spark.application": Key("choice per-target|per-flow", default="per-target"),
    "alert.webhook.url": Key(),
    "metrics.port": Key("port"),
    "metrics.host": Key(default="0.0.0.0"),  # noqa: S104 -- whoever scrapes is elsewhere
    "metrics.detail": Key("choice flow|topic|partition", default="topic"),
    "offsets.topic.replication.factor": Key("int"),
    "offset.storage.replication.factor": Key("int"),
    "offset.storage.topic": Key(),
}

# Spelling in guides -> MirrorMaker 2's.
SPELLINGS: dict[str, str] = {
    "sync.acls.enabled": "sync.topic.acls.enabled",
    "sync.acls.interval": "sync.topic.acls.interval.seconds",
}

# A key may be written without its unit, or with ``.ms`` for ``.seconds``.
INTERVALS = (
    "refresh.topics.interval",
    "refresh.groups.interval",
    "sync.topic.configs.interval",
    "sync.topic.acls.interval",
    "sync.group.offsets.interval",
    "emit.checkpoints.interval",
    "emit.heartbeats.interval",
    "lag.sla",
    "copy.epoch",
)
SPELLINGS |= {name: f"{name}.seconds" for name in INTERVALS}
SPELLINGS |= {f"{name}.ms": f"{name}.seconds" for name in INTERVALS}
SPELLINGS["copy.anchor.interval"] = "copy.anchor.interval.ms"
SPELLINGS["copy.anchor.interval.seconds"] = "copy.anchor.interval.ms"
