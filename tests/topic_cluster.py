"""A cluster in memory that implements ``replication.ports.Cluster``, and a store of our records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.ports import TopicInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.model import TopicPartition
    from replication.state import Stored


class TopicCluster:
    """Topics of one cluster with one broker; those in ``filled`` hold records."""

    def __init__(self, **topics: int) -> None:
        self._topics = dict(topics)
        self._ids: dict[str, str] = {}
        self.filled: set[str] = set()

    def cluster_id(self) -> str:
        return "memory"

    def broker_count(self) -> int:
        return 1

    def topics(self) -> Mapping[str, TopicInfo]:
        return {
            name: TopicInfo(name, self._ids.get(name, name), n) for name, n in self._topics.items()
        }

    def recreate(self, topic: str) -> None:
        self._ids[topic] = "made anew"

    def topic_configs(self, topics: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        return {name: {} for name in topics}

    def create_topic(self, name: str, partitions: int, *_: object) -> None:
        self._topics[name] = partitions

    def grow_topic(self, name: str, total: int) -> None:
        self._topics[name] = total

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {each: 5 if each.topic in self.filled else 0 for each in partitions}


@dataclass
class StoredRecords:
    """What Isthmus has stored, by topic, and which topics were read."""

    topics: dict[str, list[Stored]] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def read(self, topic: str) -> Mapping[bytes, Stored]:
        self.reads.append(topic)
        return {each.key(): each for each in self.topics.get(topic, [])}
