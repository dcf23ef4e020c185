"""Which partitions are read from a replica in our rack instead of from their leader (KIP-392)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.model import TopicPartition

_LEASE_S = 300.0  # then the leader is asked again which replica is best
_SHUN_S = 30.0  # after a replica failed, all is read from the leaders for so long


@dataclass(slots=True)
class Replicas:
    """What leaders told a client in rack ``rack``; kept from epoch to epoch."""

    rack: str = ""
    _preferred: dict[TopicPartition, tuple[int, float]] = field(default_factory=dict)
    _shunned_until: float = 0.0

    def rack_at(self, now: float) -> str:
        """Return the rack to name in a Fetch: a leader sends only those away who name one."""
        return self.rack if now >= self._shunned_until else ""

    def prefer(self, partition: TopicPartition, node: int, now: float) -> None:
        """Read ``partition`` from broker ``node`` for a while."""
        self._preferred[partition] = node, now + _LEASE_S

    def give_up(self, partition: TopicPartition, now: float) -> None:
        """Read ``partition`` from its leader again: the replica failed or lags."""
        self._preferred.pop(partition, None)
        self._shunned_until = now + _SHUN_S

    def of(self, partition: TopicPartition, now: float) -> int | None:
        """Return the broker to read from; None: the leader."""
        node, until = self._preferred.get(partition, (None, now))
        return node if now < until else None
