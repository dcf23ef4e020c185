"""Which mode a topic is copied in: compaction takes away what would have to be counted. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.model import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping


def mode_for(theirs: Mapping[str, str], ours: Mapping[str, str], delivery: str = "auto") -> str:
    """Return the mode of a topic with these configs at the source and on the target."""
    if delivery != "auto":
        return delivery
    compacted = any("compact" in each.get("cleanup.policy", "") for each in (theirs, ours))
    return Mode.TRANSACTIONAL if compacted else Mode.APPEND
