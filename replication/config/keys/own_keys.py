"""Isthmus' own settings, and other spellings that guides show."""

from __future__ import annotations

from replication.config.keys.mm2_keys import WORKER_FROM_TOP, KnownKey, honoured
from replication.settings.setting_key import Level

# Allowed at top level and per flow.
FLOW: dict[str, KnownKey] = honoured(Level.FLOW)

# ``topic.config.<topic regex>/<config> = value``: at top level and per flow.
TOPIC_CONFIG = "topic.config."

# ``transform.<topic regex>/<what> = …``, or ``transform.<what>`` for all topics: as above.
TRANSFORM = "transform."
# Connect's, with names that the file chooses.
CONNECT_TRANSFORMS = ("transforms.", "predicates.")

# Top level only. ``spark.conf.<k>`` passes any k on to Spark.
TOP: dict[str, KnownKey] = honoured(Level.FILE) | {
    name: key for name, key in honoured(Level.WORKER).items() if name.startswith(WORKER_FROM_TOP)
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
    "rpo.slo",
    "reports.retention",
    "copy.epoch",
)
SPELLINGS |= {name: f"{name}.seconds" for name in INTERVALS}
SPELLINGS |= {f"{name}.ms": f"{name}.seconds" for name in INTERVALS}
SPELLINGS["copy.anchor.interval"] = "copy.anchor.interval.ms"
SPELLINGS["copy.anchor.interval.seconds"] = "copy.anchor.interval.ms"
