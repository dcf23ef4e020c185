"""Exchanges new target topic names with flows of other applications into the same target.

With one application per flow (``spark.application = per-flow``) no driver plans the flows whose
names may conflict with its own. So each driver announces a topic's name on the target before it
copies the first record, and then reads the names that the others announced: of two that start at
the same moment one, or both, see the other.
"""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from replication.clock import now_ms
from replication.errors import ClusterRejected
from replication.naming.conflicts import Named
from replication.naming.selection import listed
from replication.state import NewName, status_topic

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.state import Stored

_AGAIN_S = 30.0  # between reads while a topic is refused, or another flow's names cannot be read


class NameStore(Protocol):
    """What is needed of the state store."""

    def read(self, topic: str) -> Mapping[bytes, Stored]: ...
    def write(self, topic: str, *records: Stored) -> None: ...


class NameAnnouncements:
    """Announces our names, and reads those of ``others``: flows of other applications."""

    def __init__(self, store: NameStore, others: Collection[str]) -> None:
        self._store = store
        self._others = frozenset(others)
        self._announced: dict[str, dict[str, Named]] = {}  # by flow and topic of the source
        self._others_names: dict[str, tuple[Named, ...]] = {}  # by flow
        self._read_at = 0.0
        self.unreadable = ""  # whose names cannot be read, and what follows from that

    def exchange(
        self, flow: str, named: Collection[Named], fresh: Collection[Named]
    ) -> tuple[Named, ...]:
        """Announce the names of ``flow``, then return those of the other flows.

        ``named`` is all that the flow selects: other names that it announced are withdrawn, and
        announced again should they return. ``fresh`` are names that are not accepted yet. Raises
        ClusterUnavailable, and ClusterRejected about the topic of ``flow`` itself.
        """
        if flow not in self._announced:
            self._announced[flow] = {each.topic: each for each in self._read(flow)}
        announced, now = self._announced[flow], {each.topic: each for each in named}
        gone = announced.keys() - now.keys()
        new = [each for each in named if announced.get(each.topic) != each]
        if new or gone:
            withdrawn = [Named(flow, topic, "") for topic in gone]
            self._store.write(status_topic(_source(flow)), *map(_record, (*withdrawn, *new)))
            self._announced[flow] = now
        if new:
            self._read_at = 0.0  # it stays due until the others' names are read
        if (new or fresh or self.unreadable) and time.monotonic() >= self._read_at:
            self._read_others()
            self._read_at = time.monotonic() + _AGAIN_S
        return tuple(chain.from_iterable(names for _, names in sorted(self._others_names.items())))

    def _read_others(self) -> None:
        """Read the others' names; where we may not read, those read last remain valid."""
        refusals = {}
        for flow in sorted(self._others):
            try:
                self._others_names[flow] = self._read(flow)
            except ClusterRejected as error:
                refusals[flow] = error
        self.unreadable = _unreadable(refusals)

    def _read(self, flow: str) -> tuple[Named, ...]:
        return tuple(
            Named(e.flow, e.topic, e.target, e.rule, e.merges, e.may_join)
            for e in self._store.read(status_topic(_source(flow))).values()
            if isinstance(e, NewName) and e.flow == flow and e.target
        )


def _unreadable(refusals: Mapping[str, ClusterRejected]) -> str:
    """Return the message about flows whose names we may not read; empty: none. Pure."""
    if not refusals:
        return ""
    flow, error = next(iter(refusals.items()))
    return (
        f"new topic names of {listed(refusals, 1)} cannot be checked before it copies: Isthmus' "
        f"user needs READ on topic {status_topic(_source(flow))} of the target ({error})"
    )


def _source(flow: str) -> str:
    return flow.partition("->")[0]


def _record(named: Named) -> NewName:
    return NewName(*named, at_ms=now_ms())
