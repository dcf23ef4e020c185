"""What writers of MirrorMaker 2's records need of a cluster; see ``adapters.topics``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

BY_KEY = -1  # the partition where Java's clients would put a record by its key


class InternalTopicRecord(NamedTuple):
    """A record of an internal topic; without a time it gets that of its writing."""

    key: bytes
    value: bytes | None
    at_ms: int = 0
    partition: int = 0


class Topics(Protocol):
    """The internal topics of one cluster. Calls wait; they raise ReplicationError."""

    def ensure(self, name: str, replication_factor: int) -> None:
        """Create a compacted topic of one partition unless it is there."""

    def write(self, topic: str, entries: Iterable[InternalTopicRecord]) -> None:
        """Write in order and wait for the acks."""

    def read(self, topic: str, last: int = ...) -> list[tuple[bytes | None, bytes | None]]:
        """Return the committed records, by partition; none if there is no such topic.

        ``last``: of each partition only about so many, the newest.
        """
