"""Which partitions have a leader as far as an admin client knows: it is asked about no others.

librdkafka (2.16, ``rd_kafka_topic_partition_list_query_leaders_async``) searches for a leader that
it does not know in the caller's thread, and goes on with that in its own as soon as any metadata
comes. Where that happens in between, the caller's thread uses what was freed, and the process ends
by SIGSEGV (decision 0032).
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from confluent_kafka.admin import ClusterMetadata

_TRUSTED_S = 30.0  # the client keeps what it has learnt for 15 minutes
_SINGLY = 10  # topics that are asked about one by one: all of a cluster may be thousands


class PartitionLeaders:
    """The partitions with a leader, each for a while after one client has learnt of it.

    Threads may share it. What one of them is told counts for it, whatever others learn meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[TopicPartition, float] = {}  # monotonic, in s; replaced, never changed

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
        now, known = time.monotonic(), self._until
        new = {e.topic for e in partitions if anew or known.get(e, 0.0) < now}
        for topics in [{each} for each in sorted(new)] if len(new) <= _SINGLY else [new]:
            answer = ask(*topics) if len(topics) == 1 else ask()
            led = self.learn(answer, topics)
            known = _without(known, topics) | led
        return [each for each in partitions if known.get(each, 0.0) >= now]

    def learn(self, found: ClusterMetadata, topics: Collection[str]) -> dict[TopicPartition, float]:
        """Keep which partitions of ``topics`` have a leader as the client knows it now."""
        led = dict.fromkeys(_led(found, topics), time.monotonic() + _TRUSTED_S)
        with self._lock:
            self._until = _without(self._until, topics) | led
        return led


def _led(found: ClusterMetadata, topics: Collection[str]) -> list[TopicPartition]:
    """Return the partitions of ``topics`` whose leader is alive."""
    return [
        TopicPartition(topic, number)
        for topic in topics
        if (info := found.topics.get(topic)) is not None
        for number, partition in info.partitions.items()
        if partition.leader in found.brokers
    ]


def _without(
    known: Mapping[TopicPartition, float], topics: Collection[str]
) -> dict[TopicPartition, float]:
    return {each: until for each, until in known.items() if each.topic not in topics}
