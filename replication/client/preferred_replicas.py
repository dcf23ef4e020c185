"""Which partitions are fetched from a replica in our rack instead of their leader (KIP-392)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.model import TopicPartition

_EXPIRY_S = 300.0  # then the leader chooses the replica again
_LEADER_ONLY_S = 30.0  # after a replica failed: fetch everything from the leaders


@dataclass(slots=True)
class Replicas:
    """The preferred replicas that leaders reported to ``rack``; kept from epoch to epoch."""

    rack: str
    _preferred: dict[TopicPartition, tuple[int, float]] = field(default_factory=dict)
    _leader_only_until: float = 0.0

    def rack_at(self, now: float) -> str:
        """Return the rack for a Fetch: a leader names a preferred replica only if it has one."""
        return self.rack if now >= self._leader_only_until else ""

    def prefer(self, partition: TopicPartition, node: int, now: float) -> None:
        """Fetch ``partition`` from broker ``node`` until the preference expires."""
        self._preferred[partition] = node, now + _EXPIRY_S

    def give_up(self, partition: TopicPartition, now: float) -> None:
        """Fetch ``partition`` from its leader again: the replica failed or lags."""
        self._preferred.pop(partition, None)
        self._leader_only_until = now + _LEADER_ONLY_S

    def of(self, partition: TopicPartition, now: float) -> int | None:
        """Return the broker to fetch from; None: the leader."""
        node, until = self._preferred.get(partition, (None, now))
        return node if now < until else None
