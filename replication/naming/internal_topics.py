"""The names of MirrorMaker 2's internal topics, and which names it considers internal.

Every naming policy has these names: what reads them (Kafka's ``RemoteClusterUtils``, dashboards)
knows MirrorMaker 2's. The three topics that Connect keeps (``mm2-offsets.A.internal`` and so on)
are not here: their dots are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

HEARTBEATS = "heartbeats"
BROKER_TOPICS = frozenset(
    {
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__cluster_metadata",
        "__remote_log_metadata",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopicNames:
    """Names of MirrorMaker 2's own topics.

    ``internal_separator`` is ``replication.policy.separator``, or a dot when
    ``replication.policy.internal.topic.separator.enabled`` is false.
    """

    internal_separator: str = "."

    def heartbeats_topic(self) -> str:
        """Return the topic that heartbeats are emitted to; no separator is in it."""
        return HEARTBEATS

    def offset_syncs_topic(self, cluster: str) -> str:
        """Return the offset syncs' topic; ``cluster`` is the one where it is *not*."""
        return self._joined("mm2-offset-syncs", cluster, "internal")

    def checkpoints_topic(self, cluster: str) -> str:
        """Return the topic of the checkpoints of groups of ``cluster``, a source."""
        return self._joined(cluster, "checkpoints", "internal")

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Say whether ``topic`` is one with checkpoints, of whatever cluster."""
        end = self._joined("", "checkpoints", "internal")
        return topic.endswith(end) and topic != end

    def internal_reason(self, topic: str) -> str | None:
        """Return why ``topic`` is never copied, else None."""
        if self.is_checkpoints_topic(topic):
            return "MirrorMaker 2's own topic"
        return internal_reason(topic)

    def looks_internal(self, topic: str) -> bool:
        """Say whether MirrorMaker 2 takes ``topic`` for internal: it looks at the ends of names."""
        ends = (self._joined("", "internal"), "-internal", ".internal")
        return topic.startswith(("__", ".")) or topic.endswith(ends)

    def _joined(self, *parts: str) -> str:
        return self.internal_separator.join(parts)


def internal_reason(topic: str) -> str | None:
    """Return why a topic belongs to a broker, MirrorMaker 2 or Isthmus itself, else None.

    ``billing.internal`` is the operator's: only names of MirrorMaker 2's scheme count.
    """
    if topic in BROKER_TOPICS:
        return "a broker's own topic"
    if topic.startswith("isthmus-") and topic.endswith(".internal"):
        return "Isthmus' own topic"
    is_mm2 = topic.startswith("mm2-") and topic.endswith(("internal", "-internal"))
    if is_mm2 or topic.endswith("checkpoints.internal"):
        return "MirrorMaker 2's own topic"
    return None
