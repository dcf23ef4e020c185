"""Which partitions have a leader as far as an admin client knows: it is asked about no others.

librdkafka (2.16, ``rd_kafka_topic_partition_list_query_leaders_async``) searches for a leader that
it does not know in the caller's thread, and goes on with that in its own as soon as any metadata
comes. Where that happens in between, the caller's thread uses what was freed, and the process ends
by SIGSEGV (decision 0032).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from confluent_kafka.admin import ClusterMetadata

_TRUSTED_S = 30.0  # the client keeps what it has learnt for 15 minutes
_SINGLY = 10  # topics that are asked about one by one: all of a cluster may be thousands


class PartitionLeaders:
    """The partitions with a leader, each for a while after the client has learnt of it."""

    def __init__(self) -> None:
        self._until: dict[TopicPartition, float] = {}  # monotonic, in s

    def forget(self) -> None:
        """Forget all: there is another client."""
        self._until = {}

    def of(
        self,
        partitions: Collection[TopicPartition],
        ask: Callable[..., ClusterMetadata],
        *,
        anew: bool = False,
    ) -> list[TopicPartition]:
        """Return those of ``partitions`` that have a leader.

        ``ask`` lets the client learn of a topic, or of all, where something is not known, or where
        ``anew`` says that what is known was wrong.
        """
        now = time.monotonic()
        new = {e.topic for e in partitions if anew or self._until.get(e, 0.0) < now}
        for topics in [{each} for each in sorted(new)] if len(new) <= _SINGLY else [new]:
            answer = ask(*topics) if len(topics) == 1 else ask()
            self._learn(answer, topics, now + _TRUSTED_S)
        return [each for each in partitions if self._until.get(each, 0.0) >= now]

    def _learn(self, found: ClusterMetadata, topics: Collection[str], until: float) -> None:
        kept = {each: at for each, at in self._until.items() if each.topic not in topics}
        led = {
            TopicPartition(topic, number): until
            for topic in topics
            if (info := found.topics.get(topic)) is not None
            for number, partition in info.partitions.items()
            if partition.leader in found.brokers
        }
        self._until = kept | led
