"""What the core asks of the outside world. ``replication.adapters`` implements it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.model import TopicPartition


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic as its cluster reports it."""

    name: str
    topic_id: str  # hex of its UUID
    partitions: int


class Cluster(Protocol):
    """What planning and status need to know of a cluster; see adapters.kafka_admin."""

    def cluster_id(self) -> str:
        """Return the cluster's own id."""

    def broker_count(self) -> int:
        """Return how many brokers are alive."""

    def topics(self) -> Mapping[str, TopicInfo]:
        """Return all topics that the credentials may see, internal ones too."""

    def topic_configs(self, topics: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the configs that were set on each topic (not defaults)."""

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Create a topic. Raises ClusterRejected."""

    def grow_topic(self, name: str, total: int) -> None:
        """Raise the partition count to ``total``."""

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the readable end (last stable offset) of each partition that has a leader."""
