"""State topics that a process follows: all of them first, then what is new since the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replication.adapters.kafka_admin import KafkaAdmin
from replication.adapters.state_store import Tail
from replication.errors import ReplicationError
from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.state import Stored


class Following:
    """Follows some topics on one cluster. ``client`` holds librdkafka's settings.

    Raises ClusterUnavailable or ClusterRejected; the topic is then read anew the next time.
    """

    def __init__(self, client: Mapping[str, Any], topics: Iterable[str]) -> None:
        self._client = client
        self._topics = tuple(topics)
        self._admin = KafkaAdmin(client)
        self._tails: dict[str, Tail] = {}

    def news(self) -> list[Stored]:
        """Return what came since the last call; a topic that is not there has nothing."""
        return [each for topic in self._topics for each in self._read(topic)]

    def close(self) -> None:
        for each in self._tails.values():
            each.close()
        self._tails.clear()

    def _read(self, topic: str) -> list[Stored]:
        try:
            if topic not in self._tails:
                first = TopicPartition(topic, 0)
                if first not in self._admin.end_offsets([first]):
                    return []
                self._tails[topic] = Tail(self._client, topic)
            return self._tails[topic].catch_up()
        except ReplicationError:
            if (tail := self._tails.pop(topic, None)) is not None:
                tail.close()
            raise
