"""What one broker shall fetch for us, and what of that it has been told in our session. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.fetch_values import FetchEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.client.fetch_session import FetchSession
    from replication.client.fetch_values import Fetched, FetchKey
    from replication.copier.partition.partition_copy import Lane


@dataclass(slots=True)
class Wishes:
    """The lanes that are fetched from one broker. Lanes put themselves into ``changed``.

    ``leader_epoch`` says which leader epoch of a lane's partition we know of.
    """

    session: FetchSession
    leader_epoch: Callable[[Lane], int]
    lanes: dict[Lane, None] = field(default_factory=dict)
    changed: set[Lane] = field(default_factory=set)
    _told: dict[Lane, FetchEntry] = field(default_factory=dict)
    _by_key: dict[FetchKey, Lane] = field(default_factory=dict)

    def join(self, lane: Lane) -> None:
        """Fetch ``lane`` from this broker from now on."""
        self.lanes[lane] = None
        lane.asks = self.changed
        self.changed.add(lane)

    def leave(self, lane: Lane) -> None:
        """Do not fetch ``lane`` from this broker any more."""
        del self.lanes[lane]
        self.changed.add(lane)

    def tell(self) -> list[FetchEntry] | None:
        """Return what the next Fetch has to name; None: nothing is wanted of this broker.

        That is what changed since the last one, or everything when the session is fresh.
        """
        # Who left first: a partition may have come back as another lane meanwhile.
        looked: Iterable[Lane] = sorted(self.changed, key=self.lanes.__contains__)
        if self.session.fresh:
            self._told.clear()
            self._by_key.clear()
            looked = self.lanes
        entries = [entry for lane in looked if (entry := self._tell(lane)) is not None]
        self.changed.clear()
        return _side_by_side(entries) if self._told else None

    def _tell(self, lane: Lane) -> FetchEntry | None:
        entry = self._entry(lane) if lane in self.lanes and lane.fetches else None
        told = self._told.get(lane)
        if told is not None and (entry is None or entry[:2] != told[:2]):
            del self._told[lane], self._by_key[told[:2]]
            self.session.forget(told[:2])
        if entry is None or entry == told:
            return None
        self._told[lane] = self.session.name(entry)
        self._by_key[entry[:2]] = lane
        return entry

    def _entry(self, lane: Lane) -> FetchEntry:
        return FetchEntry(
            lane.topic_id,
            lane.source.partition,
            lane.position,
            self.leader_epoch(lane),
            lane.last_epoch,
        )

    def lane_of(self, found: Fetched) -> Lane | None:
        """Return the lane that an answer is for; None: it has other wishes by now."""
        lane = self._by_key.get((found.topic_id, found.partition))
        if lane is None or lane not in self.lanes or not lane.fetches:
            return None
        return lane if lane.position == self._told[lane].offset else None

    def served(self, lane: Lane) -> None:
        """Put ``lane`` behind the others, as the broker does within a session.

        An answer is filled in order: where there is no session, each lane gets its turn like this.
        """
        self.lanes[lane] = self.lanes.pop(lane)


def _side_by_side(entries: list[FetchEntry]) -> list[FetchEntry]:
    """Put the entries of a topic together, topics in the order of their first entry."""
    if len(entries) < 2:
        return entries
    topics: dict[bytes, list[FetchEntry]] = {}
    for each in entries:
        topics.setdefault(each.topic_id, []).append(each)
    return [each for listed in topics.values() for each in listed]
