"""What flows of other applications call their topics on the same target, and what ours do.

With an application a flow (``spark.application = per-flow``) no driver plans the flows that its own
may meet. So each says what it is about to call a topic before it copies the first record, and then
reads what the others have said: of two that begin at the same moment one, or both, see the other.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from replication.errors import ClusterRejected
from replication.naming.conflicts import Named
from replication.naming.selection import listed
from replication.state import NewName, status_topic

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.state import Stored

_AGAIN_S = 30.0  # between two looks while a topic is refused, or somebody cannot be heard


class AnnouncedName(Protocol):
    """What is needed of ``client.admin.Records``."""

    def read(self, topic: str) -> Mapping[bytes, Stored]: ...
    def write(self, topic: str, *records: Stored) -> None: ...


class NameAnnouncements:
    """Tells ``others``, the flows of other applications into the target, and hears them."""

    def __init__(self, store: AnnouncedName, others: Collection[str]) -> None:
        self._store = store
        self._others = frozenset(others)
        self._told: dict[str, dict[str, Named]] = {}  # by flow and topic of the source
        self._heard: dict[str, tuple[Named, ...]] = {}  # by flow
        self._look_at = 0.0
        self.unheard = ""  # whose names cannot be read, and what follows from that

    def hear(
        self, flow: str, named: Collection[Named], fresh: Collection[Named]
    ) -> tuple[Named, ...]:
        """Return what the others call their topics, told before what ``flow`` calls its own.

        ``named`` is all that the flow selects: what it has told besides is taken back, and told
        again should it come back. ``fresh`` is what waits for an answer. Raises ClusterUnavailable,
        and ClusterRejected about the topic of ``flow`` itself.
        """
        if flow not in self._told:
            self._told[flow] = {each.topic: each for each in self._read(flow)}
        told, now = self._told[flow], {each.topic: each for each in named}
        gone = told.keys() - now.keys()
        news = [each for each in named if told.get(each.topic) != each]
        if news or gone:
            back = [Named(flow, topic, "") for topic in gone]
            self._store.write(status_topic(_source(flow)), *map(_record, (*back, *news)))
            self._told[flow] = now
        if news:
            self._look_at = 0.0  # and it stays due until the others have been heard
        if (news or fresh or self.unheard) and time.monotonic() >= self._look_at:
            self._listen()
            self._look_at = time.monotonic() + _AGAIN_S
        return tuple(each for flow in sorted(self._heard) for each in self._heard[flow])

    def _listen(self) -> None:
        """Hear the others; of one that we may not hear what was heard last is taken to hold."""
        refusals = {}
        for flow in sorted(self._others):
            try:
                self._heard[flow] = self._read(flow)
            except ClusterRejected as error:
                refusals[flow] = error
        self.unheard = _unheard(refusals)

    def _read(self, flow: str) -> tuple[Named, ...]:
        return tuple(
            Named(e.flow, e.topic, e.target, e.rule, e.merges, e.may_join)
            for e in self._store.read(status_topic(_source(flow))).values()
            if isinstance(e, NewName) and e.flow == flow and e.target
        )


def _unheard(refusals: Mapping[str, ClusterRejected]) -> str:
    """Return what to say of flows whose names we may not read; empty: there are none. Pure."""
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
    return NewName(*named, at_ms=int(time.time() * 1000))
