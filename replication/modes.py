"""Which mode a topic is copied in: compaction takes away what would have to be counted. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.model import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.ports import ConfigValue

    Settings = Mapping[str, Mapping[str, ConfigValue]]


def mode_for(theirs: str | None, ours: str | None, delivery: str = "auto") -> str:
    """Return the mode of a topic with these cleanup policies at the source and on the target.

    None: it may not be seen, so the topic may be compacted. They are those that hold, also where
    a broker's default says so.
    """
    if delivery != "auto":
        return delivery
    compacted = any(each is None or "compact" in each for each in (theirs, ours))
    return Mode.TRANSACTIONAL if compacted else Mode.APPEND


def policy_of(settings: Settings, topic: str) -> str | None:
    """Return the cleanup policy of a topic that was asked about; empty when it has gone since."""
    found = settings.get(topic)
    if found is None:
        return ""
    policy = found.get("cleanup.policy")
    if policy is None:
        return "" if found else None
    return policy.value
