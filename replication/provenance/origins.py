"""Recognizes copies by producer id: where a batch was produced and which clusters it passed. Pure.

A batch keeps the producer id that wrote it, through compaction and recompression too. The registry
on a cluster lists every producer id that Isthmus appends with there, with the clusters that its
records were on before: their replication path. A flow looks up the batches that it reads there. So
it needs no topic name, no header and no decoding to avoid replication cycles.

P1  If a registry, read to its end after the batch was read, has no entry for the producer id, the
    batch was produced on that cluster: an entry is acked before the first append of its producer
    id (F). Brokers assign a producer id to one producer only, so a local one never equals a copy's.
    A registry is believed only when it, with the second copies of its entries among the anchors,
    has all that these anchors imply: it may have lost entries.
P2  A record is never copied to a cluster on its path. So there are no cycles, whatever the flows.
    Once it may come home: where its topic there was created anew to be filled from the copies
    (``ForwardingRule.whole_before``). These copies have both clusters on their path, so they go
    nowhere.
P3  The meaning of a producer id never changes: which records are deliverable depends only on the
    source's log, its registry, and the rule in the anchor (E).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.model import BY_ID, NO_PRODUCER_ID
from replication.state import ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ReplicationPath = tuple[str, ...]  # ids of the clusters that records were on, their origin first
LOCAL_ORIGIN: ReplicationPath = ()
_MAX_LOCAL = 100_000  # producer ids of local producers
_BEFORE = "<"  # in a rule's text, in front of ``whole_before``


@dataclass(frozen=True, slots=True)
class ForwardingRule:
    """Which copies a flow forwards: none with its target on their path, none from ``elsewhere``.

    ``elsewhere`` holds aliases of clusters whose records reach the target through another flow.
    ``whole_before``: below this source offset every record is copied, whose copy it ever is.
    """

    target: str  # id of the flow's target cluster
    elsewhere: frozenset[str] = frozenset()
    by: str = BY_ID  # how copies are recognized
    whole_before: int = 0

    def path_of(self, entry: ProducerEntry | None, offset: int) -> ReplicationPath | None:
        """Return the path of a batch of ``entry`` at a source offset; None: do not copy it."""
        if entry is None:
            return LOCAL_ORIGIN
        path = entry.came_by
        if offset < self.whole_before:
            return path
        return None if self.target in path or entry.alias in self.elsewhere else path


def rule_text(elsewhere: Collection[str], by: str = BY_ID) -> str:
    """Format a rule for plans and anchors: ``producer-id -A``."""
    return " ".join([by, *(f"-{each}" for each in sorted(elsewhere))])


def with_whole_before(text: str, offset: int) -> str:
    """Return a rule's text with ``whole_before``: ``producer-id -A <1200``; "" copies all."""
    return f"{text} {_BEFORE}{offset}" if text and offset else text


def carried_over(text: str, known: str) -> str:
    """Return the rule ``text`` of a plan with ``whole_before`` of the rule in the anchor.

    It belongs to the copy, which begins with these records; no file names it.
    """
    plain = " ".join(each for each in text.split(" ") if not each.startswith(_BEFORE))
    return with_whole_before(plain, _whole_before(known))


def rule_of(text: str, target: str) -> ForwardingRule | None:
    """Parse a rule, for a flow into the cluster with the id ``target``; None: copy all."""
    if not text:
        return None
    by, *rest = text.split(" ")
    others = frozenset(each.removeprefix("-") for each in rest if not each.startswith(_BEFORE))
    return ForwardingRule(target, others, by, _whole_before(text))


def _whole_before(text: str) -> int:
    found = (each for each in text.split(" ") if each.startswith(_BEFORE))
    return int(next(found, _BEFORE + "0").removeprefix(_BEFORE))


@dataclass(slots=True)
class Origins:
    """The registry entries of one cluster, and its known local producer ids."""

    entries: dict[int, ProducerEntry] = field(default_factory=dict)
    _local: set[int] = field(default_factory=lambda: {NO_PRODUCER_ID})

    def learn(self, records: Iterable[object]) -> None:
        """Add entries of the registry."""
        for each in records:
            if isinstance(each, ProducerEntry):
                self.entries[each.producer_id] = each

    def unknown(self, producer_ids: Iterable[int]) -> set[int]:
        """Return the producer ids for which the registry must be read to its end first."""
        return {
            each for each in producer_ids if each not in self._local and each not in self.entries
        }

    def note_looked_up(self, producer_ids: Iterable[int]) -> None:
        """Note that the registry was read to its end after these producer ids were read (P1)."""
        if len(self._local) > _MAX_LOCAL:
            self._local = {NO_PRODUCER_ID}
        self._local.update(each for each in producer_ids if each not in self.entries)

    def path_of(
        self, producer_id: int, offset: int, rule: ForwardingRule
    ) -> ReplicationPath | None:
        """Return the path of a batch of ``producer_id`` at an offset; None: do not copy it."""
        return rule.path_of(self.entries.get(producer_id), offset)


def forwarding_id(transactional_id: str, path: ReplicationPath, source: str) -> str:
    """Return the transactional id for records that reached ``source`` along ``path`` (P3).

    An earlier release used ``<id>~<path>``, without the source: the two forms never collide.
    """
    return "~".join((transactional_id, "", *path, source))
