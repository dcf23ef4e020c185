"""An internal compacted topic, created before each write if it does not exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replication.mm2.internal_topics_protocol import InternalTopicRecord, Topics


@dataclass(slots=True)
class CompactedTopic:
    """``connect`` is called once, when the topic is first needed. Raises ReplicationError."""

    name: str
    replication_factor: int
    connect: Callable[[], Topics]
    _topics: Topics | None = field(default=None, init=False)
    _made: bool = field(default=False, init=False)

    def read(self) -> list[tuple[bytes | None, bytes | None]]:
        """Return all of it."""
        return self._ready().read(self.name)

    def write(self, entries: Sequence[InternalTopicRecord]) -> None:
        """Write in order and wait for the acks. After a failure the topic is looked up again."""
        topics = self._ready()
        try:
            topics.write(self.name, entries)
        except ReplicationError:
            self._made = False
            raise

    def _ready(self) -> Topics:
        topics = self._topics = self._topics or self.connect()
        if not self._made:
            topics.ensure(self.name, self.replication_factor)
            self._made = True
        return topics
