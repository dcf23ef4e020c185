"""Leaves topics out of a plan whose target names conflict, are invalid, or are taken."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from replication.naming.conflicts import TargetNames, find_conflicts
from replication.planning.target_snapshot import (
    TopicSources,
    read_fed,
    read_filled,
    with_points,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.admin import ClusterAdmin, TopicInfo
    from replication.naming.conflicts import NameConflict, Named
    from replication.planning.target_snapshot import TargetReads
    from spark_jobs.planning.name_announcements import NameAnnouncements

_FRESH_S = 5.0  # anchors that were read serve all flows that start together
_AGAIN_S = 30.0  # between reads of which flows write a topic that is refused


class TargetRead(NamedTuple):
    """What was read from the target for one flow, and about which topics."""

    about: frozenset[str] = frozenset()
    names: TargetNames = TargetNames()
    at: float = 0.0


class NamingGuard:
    """Checks the names of all flows into one target; each flow is planned in its own thread.

    A topic that was accepted is not checked again against the target's content: its records are
    ours then. So anchors are read only when a target topic is new to this process.
    """

    def __init__(self, store: TargetReads, announcements: NameAnnouncements | None = None) -> None:
        self._store = store
        self._announcements = announcements  # flows of other applications into the same target
        self._lock = threading.Lock()
        self._named: dict[str, tuple[Named, ...]] = {}
        self._accepted: dict[str, set[tuple[str, str]]] = {}  # by target topic: (flow, topic)
        self._changes = 0  # of ``_accepted``
        self._last: dict[str, tuple[tuple[object, ...], tuple[NameConflict, ...]]] = {}  # by flow
        self._target_reads: dict[str, TargetRead] = {}  # by flow
        self._sources: TopicSources | None = None
        self._sources_at = 0.0

    def conflicts(
        self,
        flow: str,
        named: tuple[Named, ...],
        ours: Mapping[str, TopicInfo],
        target: ClusterAdmin,
    ) -> tuple[NameConflict, ...]:
        """Return the conflicts of the topics that a flow has selected and ``named``.

        ``ours`` are the target's topics. Raises ClusterUnavailable.
        """
        with self._lock:
            self._named[flow] = named
            fresh = frozenset(each for each in named if not self._is_accepted(each))
            others = self._announcements.exchange(flow, named, fresh) if self._announcements else ()
            new = {each.target for each in fresh if each.target in ours}
            found = self._target_reads.get(flow, TargetRead())
            if new:
                found = self._target_reads[flow] = self._read(found, frozenset(new), ours, target)
            mine = self._conflicts_of(flow, found.names, frozenset(ours), others)
            for each in fresh - {each for conflict in mine for each in conflict.refused}:
                self._accepted.setdefault(each.target, set()).add((flow, each.topic))
                self._changes += 1
            return mine

    @property
    def unreadable(self) -> str:
        """Which flows' names could not be read, and why; empty: all were read."""
        return self._announcements.unreadable if self._announcements else ""

    def _conflicts_of(
        self, flow: str, names: TargetNames, ours: frozenset[str], others: tuple[Named, ...]
    ) -> tuple[NameConflict, ...]:
        """Return the conflicts of a flow; the last ones, while nothing has changed."""
        inputs = (tuple(self._named.values()), names, ours, others, self._changes)
        if self._last.get(flow, ((), ()))[0] != inputs:
            known = replace(names, existing=ours, feeders=self._feeders(names))
            conflicts = find_conflicts(chain(*self._named.values(), others), known)
            mine = tuple(c for c in conflicts if any(each.flow == flow for each in c.members))
            self._last[flow] = inputs, mine
        return self._last[flow][1]

    def _is_accepted(self, named: Named) -> bool:
        return (named.flow, named.topic) in self._accepted.get(named.target, ())

    def _feeders(self, names: TargetNames) -> dict[str, set[tuple[str, str]]]:
        """Return which flows write each topic: as read, and as accepted by this process."""
        return {
            name: {*self._accepted.get(name, ()), *names.feeders.get(name, ())}
            for name in self._accepted.keys() | names.feeders.keys()
        }

    def _read(
        self,
        before: TargetRead,
        new: frozenset[str],
        ours: Mapping[str, TopicInfo],
        target: ClusterAdmin,
    ) -> TargetRead:
        """Read which flows write ``new``; not again at once when the same topics are unclear."""
        if new <= before.about and time.monotonic() < before.at + _AGAIN_S:
            return before
        filled = read_filled(new, ours, target)
        fed = self._read_fed(ours) if filled else TopicSources({})
        fed = with_points(fed, filled, ours, self._store)
        return TargetRead(new, TargetNames((), filled, *fed), time.monotonic())

    def _read_fed(self, ours: Mapping[str, TopicInfo]) -> TopicSources:
        """Read the anchors, once for all flows that are planned at the same time."""
        if self._sources is None or time.monotonic() > self._sources_at + _FRESH_S:
            self._sources = read_fed(ours, self._store)
            self._sources_at = time.monotonic()
        return self._sources
