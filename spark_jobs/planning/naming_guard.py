"""Keeps topics out of a plan whose names on the target meet others, cannot be, or are taken."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from replication.naming.conflicts import TargetNames, find_conflicts
from replication.planning.target_snapshot import TopicSources, read_fed, read_filled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.admin import Cluster, TopicInfo
    from replication.naming.conflicts import Conflict, Named
    from replication.planning.target_snapshot import TargetReads
    from spark_jobs.planning.name_announcements import NameAnnouncements

_FRESH_S = 5.0  # what was read of the anchors serves all flows that start together
_AGAIN_S = 30.0  # between two looks at who feeds a topic that is refused


class Found(NamedTuple):
    """What was read of the target for one flow, and about which topics."""

    about: frozenset[str] = frozenset()
    names: TargetNames = TargetNames()
    at: float = 0.0


class NamingGuard:
    """Judges the names of all flows into one target; flows are planned in threads of their own.

    A topic that was once let through is not judged anew by what the target holds: it has records
    then, and they are ours. So anchors are read only when a target topic is new to this process.
    """

    def __init__(self, store: TargetReads, announcements: NameAnnouncements | None = None) -> None:
        self._store = store
        self._announcements = announcements  # flows of other applications into the same target
        self._lock = threading.Lock()
        self._named: dict[str, tuple[Named, ...]] = {}
        self._passed: dict[str, set[tuple[str, str]]] = {}  # by target topic: (flow, topic)
        self._changes = 0  # of ``_passed``
        self._last: dict[str, tuple[tuple[object, ...], tuple[Conflict, ...]]] = {}  # by flow
        self._found: dict[str, Found] = {}  # by flow
        self._fed: TopicSources | None = None
        self._fed_at = 0.0

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
            fresh = frozenset(each for each in named if not self._has_passed(each))
            others = self._announcements.hear(flow, named, fresh) if self._announcements else ()
            new = {each.target for each in fresh if each.target in ours}
            found = self._found.get(flow, Found())
            if new:
                found = self._found[flow] = self._look(found, frozenset(new), ours, target)
            mine = self._judged(flow, found.names, frozenset(ours), others)
            for each in fresh - {each for conflict in mine for each in conflict.refused}:
                self._passed.setdefault(each.target, set()).add((flow, each.topic))
                self._changes += 1
            return mine

    @property
    def unheard(self) -> str:
        """Which flows' names were not looked at, and why; empty: all were."""
        return self._announcements.unheard if self._announcements else ""

    def _judged(
        self, flow: str, names: TargetNames, ours: frozenset[str], others: tuple[Named, ...]
    ) -> tuple[Conflict, ...]:
        """Return the findings about a flow; the last ones, while nothing has changed."""
        asked = (tuple(self._named.values()), names, ours, others, self._changes)
        if self._last.get(flow, ((), ()))[0] != asked:
            known = replace(names, existing=ours, feeders=self._feeders(names))
            every = find_conflicts(chain(*self._named.values(), others), known)
            mine = tuple(c for c in every if any(each.flow == flow for each in c.members))
            self._last[flow] = asked, mine
        return self._last[flow][1]

    def _has_passed(self, named: Named) -> bool:
        return (named.flow, named.topic) in self._passed.get(named.target, ())

    def _feeders(self, names: TargetNames) -> dict[str, set[tuple[str, str]]]:
        """Return who feeds each topic: what was read, and what this process has let through."""
        return {
            name: {*self._passed.get(name, ()), *names.feeders.get(name, ())}
            for name in self._passed.keys() | names.feeders.keys()
        }

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
        filled = read_filled(new, ours, target)
        fed = self._read_fed(ours) if filled else TopicSources({}, ())
        return Found(new, TargetNames((), filled, *fed), time.monotonic())

    def _read_fed(self, ours: Mapping[str, TopicInfo]) -> TopicSources:
        """Read the anchors, once for all flows that are planned at the same time."""
        if self._fed is None or time.monotonic() > self._fed_at + _FRESH_S:
            self._fed = read_fed(ours, self._store)
            self._fed_at = time.monotonic()
        return self._fed
