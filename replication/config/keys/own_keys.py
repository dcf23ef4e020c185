"""Isthmus' own settings, and other spellings that guides show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.config.file.values import SPANS
from replication.config.keys.mm2_keys import CONNECTOR, WORKER_FROM_TOP, KnownKey, honoured
from replication.settings.setting_key import KeyLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

# Allowed at top level and per flow.
FLOW: dict[str, KnownKey] = honoured(KeyLevel.FLOW)

# ``topic.config.<topic regex>/<config> = value``: at top level and per flow.
TOPIC_CONFIG = "topic.config."

# ``transform.<topic regex>/<what> = …``, or ``transform.<what>`` for all topics: as above.
TRANSFORM = "transform."
TRANSFORM_OPTIONS: dict[str, KnownKey] = honoured(KeyLevel.TRANSFORM)
# Connect's, with names that the file chooses.
CONNECT_TRANSFORMS = ("transforms.", "predicates.")

# Top level only. ``spark.conf.<k>`` passes any k on to Spark.
TOP: dict[str, KnownKey] = honoured(KeyLevel.FILE) | {
    name: key for name, key in honoured(KeyLevel.WORKER).items() if name.startswith(WORKER_FROM_TOP)
}

# Spelling in guides -> MirrorMaker 2's.
SPELLINGS: dict[str, str] = {
    "sync.acls.enabled": "sync.topic.acls.enabled",
    "sync.acls.interval": "sync.topic.acls.interval.seconds",
}


def _other_units(keys: Mapping[str, KnownKey]) -> dict[str, str]:
    """Return how spans of time may be written too: without their unit, or in the other one."""
    found: dict[str, str] = {}
    for name in [name for name, key in keys.items() if key.kind in SPANS]:
        stem, _, unit = name.rpartition(".")
        if other := _OTHER_UNIT.get(unit):
            found |= {stem: name, f"{stem}.{other}": name}
    return found


_OTHER_UNIT = {"seconds": "ms", "ms": "seconds"}
SPELLINGS |= _other_units(CONNECTOR | FLOW | TOP)
