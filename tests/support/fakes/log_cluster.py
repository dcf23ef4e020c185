"""A cluster of logs whose content is known, that implements what readers ask of a Network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.client.fetch_values import EpochEndOffset, Leader
from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from replication.model import TopicPartition
    from support.records.copied_logs import Log


class LogCluster:
    """Knows its topics and leaders as of the last refresh, as the interface says."""

    def __init__(self, cluster_id: str = "memory") -> None:
        self.cluster_id = cluster_id
        self.logs: dict[TopicPartition, Log] = {}
        self.ids: dict[str, bytes] = {}  # of topics that have another id than their name
        self.hidden: set[str] = set()  # topics that our user may not describe
        self.leaderless: set[TopicPartition] = set()
        self.broken: dict[TopicPartition, BaseException] = {}  # what a request there ends with
        self.diverging: dict[TopicPartition, tuple[int, int]] = {}  # last common epoch, its end
        self.most_fetches = self._fetches = 0  # at the same time
        self._known: dict[str, bytes] = {}
        self._denied: set[str] = set()

    async def refresh(self, topics) -> None:
        there = {each.topic for each in self.logs}
        for each in topics:
            self._known.pop(each, None)
            self._denied.discard(each)
            if each in self.hidden:
                self._denied.add(each)
            elif each in there:
                self._known[each] = self.ids.get(each, topic_id(each))

    def denied(self, topic: str) -> bool:
        return topic in self._denied

    def topic_id(self, topic: str) -> bytes | None:
        return self._known.get(topic)

    def leader(self, partition: TopicPartition) -> Leader | None:
        there = partition.topic in self._known and partition not in self.leaderless
        return Leader(0, 0) if there else None

    async def offset_at(self, partition: TopicPartition, moment: int) -> int:
        return await self._log(partition).offset_at(partition, moment)

    async def fetch(self, node, entries, options, into):
        (entry,) = entries
        (where,) = (
            each
            for each in self.logs
            if (self._known.get(each.topic), each.partition) == (entry.topic_id, entry.partition)
        )
        self._fetches += 1
        self.most_fetches = max(self.most_fetches, self._fetches)
        await asyncio.sleep(0)
        self._fetches -= 1
        (found,) = await self._log(where).fetch(node, entries, options, into)
        diverging = self.diverging.get(where)
        if diverging is not None and entry.last_epoch > diverging[0]:
            found = found._replace(diverging=EpochEndOffset(*diverging))
        return [found]

    def _log(self, partition: TopicPartition) -> Log:
        if partition.topic not in self._known:
            raise ClusterUnavailable(f"{partition} has no leader")
        if error := self.broken.get(partition):
            raise error
        return self.logs[partition]


def topic_id(topic: str) -> bytes:
    """Return the id of a topic that was not recreated."""
    return topic.encode().ljust(16, b".")
