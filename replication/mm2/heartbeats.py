"""Heartbeats in MirrorMaker 2's format, and their age.

The heartbeat of a pair ``A->B`` is on B, in ``heartbeats``. A flow that reads B copies it on,
as ``B.heartbeats``, so its age there is that of the whole way. MirrorMaker 2's clients learn from
the names of these topics alone which clusters lead here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.mm2.internal_topics_protocol import InternalTopicRecord
from replication.mm2.wire import Heartbeat, parse_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.mm2.compacted_topic import CompactedTopic


@dataclass(frozen=True, slots=True)
class HeartbeatPair:
    """Writes the heartbeats of one pair to its target."""

    source: str
    target: str
    topic: CompactedTopic

    def beat(self) -> str:
        """Write one heartbeat and wait for its ack. Raises ReplicationError."""
        now = now_ms()
        beat = Heartbeat(self.source, self.target, now)
        self.topic.write([InternalTopicRecord(beat.key(), beat.value(), now)])
        return f"{self.source}->{self.target} to {self.topic.name} of {self.target}"


@dataclass(frozen=True, slots=True)
class Age:
    """How old the newest heartbeat of a pair is, in a topic of the cluster ``at``."""

    at: str
    topic: str
    source: str
    target: str
    ms: int


def ages(
    at: str, topic: str, records: Iterable[tuple[bytes | None, bytes | None]], now_ms: int
) -> list[Age]:
    """Return the age of the newest heartbeat of each pair in ``topic``."""
    newest: dict[tuple[str, str], int] = {}
    for each in parse_all(Heartbeat.parse, records):
        pair = (each.source, each.target)
        newest[pair] = max(each.at_ms, newest.get(pair, 0))
    return [Age(at, topic, *pair, max(0, now_ms - at_ms)) for pair, at_ms in newest.items()]
