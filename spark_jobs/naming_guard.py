"""Keeps topics out of a plan whose names on the target meet others, cannot be, or are taken."""

from __future__ import annotations

import threading
import time
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.model import TopicPartition
from replication.naming_conflicts import TargetNames, find_conflicts
from replication.state import PRODUCERS_TOPIC, Anchor, ProducerEntry, anchors_topic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.naming_conflicts import Conflict, Named
    from replication.ports import Cluster, TopicInfo
    from replication.state import Stored

_AGAIN_S = 30.0  # between two looks at who feeds a topic that is refused
_ANCHORS = anchors_topic("\0").split("\0")


class Store(Protocol):
    """Isthmus' own topics on the target; see adapters.state_store."""

    def read(self, topic: str) -> Mapping[bytes, Stored]:
        """Return the newest record of every key; empty when there is no such topic."""


class Found(NamedTuple):
    """What was read of the target for one flow: see ``TargetNames``."""

    about: frozenset[str] = frozenset()  # the topics that were in doubt
    filled: Collection[str] = ()
    feeders: Mapping[str, set[tuple[str, str]]] = {}
    lost: Collection[str] = ()
    at: float = 0.0


class NamingGuard:
    """Judges the names of all flows into one target; flows are planned in threads of their own.

    A topic that was once let through is not judged anew by what the target holds: it has records
    then, and they are ours. So anchors are read only when a target topic is new to this process.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._named: dict[str, tuple[Named, ...]] = {}
        self._passed: dict[str, set[tuple[str, str]]] = {}  # by target topic: (flow, topic)
        self._changes = 0  # of ``_passed``
        self._last: dict[str, tuple[tuple[object, ...], tuple[Conflict, ...]]] = {}  # by flow
        self._found: dict[str, Found] = {}  # by flow

    def conflicts(
        self,
        flow: str,
        named: tuple[Named, ...],
        ours: Mapping[str, TopicInfo],
        target: Cluster,
    ) -> tuple[Conflict, ...]:
        """Return what there is to say about the topics that a flow has selected and ``named``.

        ``ours`` are the target's topics. Raises ClusterUnavailable.
        """
        with self._lock:
            self._named[flow] = named
            new = {e.target for e in named if e.target in ours and not self._has_passed(e)}
            found = self._found.get(flow, Found())
            if new:
                found = self._found[flow] = self._look(found, frozenset(new), ours, target)
            mine = self._judged(flow, found, frozenset(ours))
            out = {each for conflict in mine for each in conflict.refused}
            for each in named:
                if each not in out and not self._has_passed(each):
                    self._passed[each.target] = {
                        *self._passed.get(each.target, ()),
                        (flow, each.topic),
                    }
                    self._changes += 1
            return mine

    def _judged(self, flow: str, found: Found, ours: frozenset[str]) -> tuple[Conflict, ...]:
        """Return the findings about a flow; the last ones, while nothing has changed."""
        asked = (tuple(self._named.values()), found, ours, self._changes)
        if self._last.get(flow, ((), ()))[0] != asked:
            every = find_conflicts(chain(*self._named.values()), self._known(found, ours))
            mine = tuple(c for c in every if any(each.flow == flow for each in c.members))
            self._last[flow] = asked, mine
        return self._last[flow][1]

    def _has_passed(self, named: Named) -> bool:
        return (named.flow, named.topic) in self._passed.get(named.target, ())

    def _known(self, found: Found, ours: frozenset[str]) -> TargetNames:
        feeders = {
            name: self._passed.get(name, set()) | found.feeders.get(name, set())
            for name in self._passed.keys() | found.feeders.keys()
        }
        return TargetNames(ours, found.filled, feeders, found.lost)

    def _look(
        self,
        before: Found,
        new: frozenset[str],
        ours: Mapping[str, TopicInfo],
        target: Cluster,
    ) -> Found:
        """Read who feeds ``new``; not again at once when only the same topics are in doubt."""
        if new <= before.about and time.monotonic() < before.at + _AGAIN_S:
            return before
        filled = _filled(new, ours, target)
        feeders, lost = self._fed(ours) if filled else ({}, ())
        return Found(new, filled, feeders, lost, time.monotonic())

    def _fed(
        self, ours: Mapping[str, TopicInfo]
    ) -> tuple[dict[str, set[tuple[str, str]]], Collection[str]]:
        feeders: dict[str, set[tuple[str, str]]] = {}
        known: set[str] = set()
        for topic in ours:
            if topic.startswith(_ANCHORS[0]) and topic.endswith(_ANCHORS[1]):
                for each in self._store.read(topic).values():
                    if isinstance(each, Anchor):
                        feeders.setdefault(each.target_topic, set()).add((each.flow, each.topic))
                        known.add(each.flow)
        registry = self._store.read(PRODUCERS_TOPIC) if PRODUCERS_TOPIC in ours else {}
        entries = {each.flow for each in registry.values() if isinstance(each, ProducerEntry)}
        return feeders, entries - known


def _filled(new: Iterable[str], ours: Mapping[str, TopicInfo], target: Cluster) -> set[str]:
    ends = target.end_offsets(
        TopicPartition(name, number) for name in new for number in range(ours[name].partitions)
    )
    return {partition.topic for partition, end in ends.items() if end}
