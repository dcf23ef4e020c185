"""Reads a state topic again and again with one client: a new one each time costs more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.errors import ReplicationError
from replication.model import TopicPartition

if TYPE_CHECKING:
    from replication.adapters.topics.state_store import StateStore
    from replication.adapters.topics.state_tail import StateTail
    from replication.state import Stored


class StateReader:
    """The newest record of every key of one topic, as ``StateStore.read`` returns them."""

    def __init__(self, store: StateStore, topic: str) -> None:
        self._store, self._topic = store, topic
        self._tail: StateTail | None = None
        self._found: dict[bytes, Stored] = {}

    def read(self) -> dict[bytes, Stored]:
        """Return what the topic holds now; nothing when there is no such topic yet."""
        where = TopicPartition(self._topic, 0)
        if self._tail is None:
            if where not in self._store._admin.end_offsets([where]):
                return {}
            self._tail = self._store.tail(self._topic)
        try:
            self._found.update((each.key(), each) for each in self._tail.catch_up())
        except ReplicationError:
            self.close()  # some of what it has polled is lost
            raise
        return dict(self._found)

    def close(self) -> None:
        """Forget all; the next call reads from the beginning."""
        if self._tail is not None:
            self._tail.close()
        self._tail, self._found = None, {}
