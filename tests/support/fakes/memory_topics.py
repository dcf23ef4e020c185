"""A cluster in memory whose topics may hold records, and a store of state records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.fakes.memory_admin import MemoryCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.model import TopicPartition
    from replication.state import Stored


class TopicCluster(MemoryCluster):
    """Topics of one cluster with one broker; those in ``filled`` hold records."""

    def __init__(self, **topics: int) -> None:
        super().__init__(dict(topics))
        self.filled: set[str] = set()

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

    def read_all(self, topics: Iterable[str]) -> tuple[Stored, ...]:
        return tuple(each for topic in topics for each in self.read(topic).values())

    def write(self, topic: str, *records: Stored) -> None:
        self.topics.setdefault(topic, []).extend(records)
