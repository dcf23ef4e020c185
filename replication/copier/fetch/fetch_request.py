"""The incremental Fetch request to one broker: entries that its session lacks. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.fetch_values import FetchEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.client.fetch_session import FetchSession
    from replication.client.fetch_values import Fetched, FetchKey
    from replication.copier.partition.partition_copy import PartitionCopy


@dataclass(slots=True)
class FetchRequest:
    """The partitions that are fetched from one broker; each adds itself to ``changed``.

    ``leader_epoch`` returns the leader epoch of a partition in our metadata.
    """

    session: FetchSession
    leader_epoch: Callable[[PartitionCopy], int]
    partitions: dict[PartitionCopy, None] = field(default_factory=dict)
    changed: set[PartitionCopy] = field(default_factory=set)
    _sent: dict[PartitionCopy, FetchEntry] = field(default_factory=dict)
    _by_key: dict[FetchKey, PartitionCopy] = field(default_factory=dict)

    def join(self, partition: PartitionCopy) -> None:
        """Fetch ``partition`` from this broker from now on."""
        self.partitions[partition] = None
        partition.fetch_changes = self.changed
        self.changed.add(partition)

    def leave(self, partition: PartitionCopy) -> None:
        """Do not fetch ``partition`` from this broker any more."""
        del self.partitions[partition]
        self.changed.add(partition)

    def next_entries(self) -> list[FetchEntry] | None:
        """Return the entries of the next Fetch; None: nothing is fetched from this broker.

        These are the changes since the last Fetch, or all partitions in a new session.
        """
        # Removed ones first: the same partition may have been added again as another object.
        candidates: Iterable[PartitionCopy] = sorted(self.changed, key=self.partitions.__contains__)
        if self.session.fresh:
            self._sent.clear()
            self._by_key.clear()
            candidates = self.partitions
        entries = [
            entry for partition in candidates if (entry := self._next_entry(partition)) is not None
        ]
        self.changed.clear()
        return _grouped_by_topic(entries) if self._sent else None

    def _next_entry(self, partition: PartitionCopy) -> FetchEntry | None:
        entry = (
            self._entry(partition)
            if partition in self.partitions and partition.wants_more
            else None
        )
        sent = self._sent.get(partition)
        if sent is not None and (entry is None or entry[:2] != sent[:2]):
            del self._sent[partition], self._by_key[sent[:2]]
            self.session.forget(sent[:2])
        if entry is None or entry == sent:
            return None
        self._sent[partition] = self.session.name(entry)
        self._by_key[entry[:2]] = partition
        return entry

    def _entry(self, partition: PartitionCopy) -> FetchEntry:
        return FetchEntry(
            partition.topic_id,
            partition.source.partition,
            partition.position,
            self.leader_epoch(partition),
            partition.last_epoch,
        )

    def partition_of(self, found: Fetched) -> PartitionCopy | None:
        """Return the partition that a response is for; None: it changed since the request."""
        partition = self._by_key.get((found.topic_id, found.partition))
        if partition is None or partition not in self.partitions or not partition.wants_more:
            return None
        return partition if partition.position == self._sent[partition].offset else None

    def move_last(self, partition: PartitionCopy) -> None:
        """Move ``partition`` behind the others, as the broker does within a session.

        A broker fills a response in order: without a session this gives each partition its turn.
        """
        self.partitions[partition] = self.partitions.pop(partition)


def _grouped_by_topic(entries: list[FetchEntry]) -> list[FetchEntry]:
    """Group the entries by topic, topics in the order of their first entry."""
    if len(entries) < 2:
        return entries
    topics: dict[bytes, list[FetchEntry]] = {}
    for each in entries:
        topics.setdefault(each.topic_id, []).append(each)
    return [each for listed in topics.values() for each in listed]
