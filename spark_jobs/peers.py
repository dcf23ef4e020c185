"""What flows of other applications call their topics on the same target, and what ours do.

With an application a flow (``spark.application = per-flow``) no driver plans the flows that its own
may meet. So each says what it is about to call a topic before it copies the first record, and then
reads what the others have said: of two that begin at the same moment one, or both, see the other.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from replication.naming_conflicts import Named
from replication.state import NewName, status_topic

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.state import Stored

_AGAIN_S = 30.0  # between two looks while a topic is refused


class Said(Protocol):
    """What is needed of ``ports.Records``."""

    def read(self, topic: str) -> Mapping[bytes, Stored]: ...
    def write(self, topic: str, *records: Stored) -> None: ...


class Peers:
    """Tells ``others``, the flows of other applications into the target, and hears them."""

    def __init__(self, store: Said, others: Collection[str]) -> None:
        self._store = store
        self._others = frozenset(others)
        self._told: dict[str, dict[str, Named]] = {}  # by flow and topic of the source
        self._heard: tuple[Named, ...] = ()
        self._look_at = 0.0

    def hear(
        self, flow: str, named: Collection[Named], fresh: Collection[Named]
    ) -> tuple[Named, ...]:
        """Return what the others call their topics, told before what ``flow`` calls its own.

        ``named`` is all that the flow selects: what it has told besides is taken back, and told
        again should it come back. ``fresh`` is what waits for an answer. Raises ClusterUnavailable
        or ClusterRejected.
        """
        if flow not in self._told:
            self._told[flow] = {each.topic: each for each in self._read({flow})}
        told = self._told[flow]
        gone = told.keys() - {each.topic for each in named}
        news = [each for each in named if told.get(each.topic) != each]
        if news or gone:
            back = [Named(flow, topic, "") for topic in gone]
            self._store.write(status_topic(_source(flow)), *map(_record, (*back, *news)))
            told |= {each.topic: each for each in news}
            for topic in gone:
                del told[topic]
        if news or (fresh and time.monotonic() >= self._look_at):
            self._heard = self._read(self._others)
            self._look_at = time.monotonic() + _AGAIN_S
        return self._heard

    def _read(self, flows: Collection[str]) -> tuple[Named, ...]:
        topics = sorted({status_topic(_source(each)) for each in flows})
        records = [each for topic in topics for each in self._store.read(topic).values()]
        return tuple(
            Named(e.flow, e.topic, e.target, e.rule, e.merges, e.may_join)
            for e in records
            if isinstance(e, NewName) and e.flow in flows and e.target
        )


def _source(flow: str) -> str:
    return flow.partition("->")[0]


def _record(named: Named) -> NewName:
    return NewName(*named, at_ms=int(time.time() * 1000))
