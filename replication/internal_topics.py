"""How MirrorMaker 2 calls its own topics, and which names it takes for internal.

Every naming policy has these names: what reads them (Kafka's ``RemoteClusterUtils``, dashboards)
knows MirrorMaker 2's. The three topics that Connect keeps (``mm2-offsets.A.internal`` and so on)
are not here: their dots are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

HEARTBEATS = "heartbeats"


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopics:
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

    def is_internal_topic(self, topic: str) -> bool:
        """Say whether MirrorMaker 2 takes ``topic`` for internal, a broker's or its own.

        It only looks at the ends of a name. What is copied here is judged more narrowly: see
        ``selection.internal_reason``.
        """
        ends = (self._joined("", "internal"), "-internal", ".internal")
        return topic.startswith(("__", ".")) or topic.endswith(ends)

    def _joined(self, *parts: str) -> str:
        return self.internal_separator.join(parts)
