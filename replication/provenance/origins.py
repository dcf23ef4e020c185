"""Where records were born, told by the producer ids of their batches. Pure.

A batch keeps the producer id that wrote it, through compaction and recompression too. Every
producer id that Isthmus appends with stands in the registry of the cluster that it appends to,
with the clusters that its records came by. A flow that reads a cluster looks its batches up there.
So no name, no header and no decoding is needed to keep a copy from coming home.

P1  What is in no entry of a registry that was read to its end after the batch was seen, was born on
    that cluster: an entry is acked before the first append of its producer id (F). Brokers give a
    producer id to one producer only, so no local producer's is a copy's by chance.
P2  A record never comes to a cluster that it came by. So nothing circles, whatever the flows are.
P3  What a producer id means never changes: which records are deliverable depends on the source's
    log, on its registry, and on the rule in the anchor, alone (E).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.model import BY_ID, NO_PRODUCER_ID
from replication.state import ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ReplicationPath = tuple[
    str, ...
]  # ids of the clusters that records came by, their birthplace first
LOCAL_ORIGIN: ReplicationPath = ()
_MOST_KNOWN = 100_000  # producer ids that are known to be nobody's copies


@dataclass(frozen=True, slots=True)
class Rule:
    """Which copies a flow passes on: not those that came by its target, nor from ``elsewhere``.

    ``elsewhere`` holds aliases of clusters whose records come to the target by another flow.
    """

    target: str  # id of the flow's target cluster
    elsewhere: frozenset[str] = frozenset()
    by: str = BY_ID  # what tells copies

    def path_of(self, entry: ProducerEntry | None) -> ReplicationPath | None:
        """Return what a batch of ``entry`` came by; None: it is not to be copied."""
        if entry is None:
            return LOCAL_ORIGIN
        via = entry.came_by
        return None if self.target in via or entry.alias in self.elsewhere else via


def rule_text(elsewhere: Collection[str], by: str = BY_ID) -> str:
    """Return a rule as plans and anchors hold it: ``producer-id -A``; empty: all is copied."""
    return " ".join([by, *(f"-{each}" for each in sorted(elsewhere))])


def rule_of(text: str, target: str) -> Rule | None:
    """Return the rule that ``text`` tells, for a flow into the cluster with the id ``target``."""
    if not text:
        return None
    by, *others = text.split(" ")
    return Rule(target, frozenset(each.removeprefix("-") for each in others), by)


@dataclass(slots=True)
class Origins:
    """What is known of the producer ids of one cluster."""

    entries: dict[int, ProducerEntry] = field(default_factory=dict)
    _born_here: set[int] = field(default_factory=lambda: {NO_PRODUCER_ID})

    def learn(self, records: Iterable[object]) -> None:
        """Take in what the registry holds."""
        for each in records:
            if isinstance(each, ProducerEntry):
                self.entries[each.producer_id] = each

    def unknown(self, producer_ids: Iterable[int]) -> set[int]:
        """Return those for which the registry must be read to its end first."""
        return {
            each
            for each in producer_ids
            if each not in self._born_here and each not in self.entries
        }

    def dispatch(self, producer_ids: Iterable[int]) -> None:
        """Note that the registry was read to its end after these were seen (P1)."""
        if len(self._born_here) > _MOST_KNOWN:
            self._born_here = {NO_PRODUCER_ID}
        self._born_here.update(each for each in producer_ids if each not in self.entries)

    def path_of(self, producer_id: int, rule: Rule) -> ReplicationPath | None:
        """Return what a batch of ``producer_id`` came by; None: it is not to be copied."""
        return rule.path_of(self.entries.get(producer_id))


def onward(transactional_id: str, via: ReplicationPath, source: str) -> str:
    """Return the name for what came to the cluster ``source`` by ``via``: one for each way (P3).

    An earlier release named such producers ``<id>~<via>``, without the source: no name is both.
    """
    return "~".join((transactional_id, "", *via, source))
