"""What one broker shall fetch for us, and what of that it has been sent in our session. Pure."""

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
    """The lanes that are fetched from one broker. Lanes put themselves into ``changed``.

    ``leader_epoch`` says which leader epoch of a lane's partition we know of.
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
        """Return what the next Fetch has to name; None: nothing is wanted of this broker.

        That is what changed since the last one, or everything when the session is fresh.
        """
        # Who left first: a partition may have come back as another lane meanwhile.
        looked: Iterable[PartitionCopy] = sorted(self.changed, key=self.partitions.__contains__)
        if self.session.fresh:
            self._sent.clear()
            self._by_key.clear()
            looked = self.partitions
        entries = [
            entry for partition in looked if (entry := self._next_entry(partition)) is not None
        ]
        self.changed.clear()
        return _side_by_side(entries) if self._sent else None

    def _next_entry(self, partition: PartitionCopy) -> FetchEntry | None:
        entry = (
            self._entry(partition) if partition in self.partitions and partition.fetches else None
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
        """Return the lane that an answer is for; None: it has other wishes by now."""
        partition = self._by_key.get((found.topic_id, found.partition))
        if partition is None or partition not in self.partitions or not partition.fetches:
            return None
        return partition if partition.position == self._sent[partition].offset else None

    def move_last(self, partition: PartitionCopy) -> None:
        """Put ``partition`` behind the others, as the broker does within a session.

        An answer is filled in order: where there is no session, each lane gets its turn like this.
        """
        self.partitions[partition] = self.partitions.pop(partition)


def _side_by_side(entries: list[FetchEntry]) -> list[FetchEntry]:
    """Put the entries of a topic together, topics in the order of their first entry."""
    if len(entries) < 2:
        return entries
    topics: dict[bytes, list[FetchEntry]] = {}
    for each in entries:
        topics.setdefault(each.topic_id, []).append(each)
    return [each for listed in topics.values() for each in listed]
