"""Decides which partitions the source had when a flow first started. Pure.

With ``copy.start = latest`` only those keep their old records at the source; of a topic that was
created later all records are copied. A listing proves that a topic exists, never that one is
missing: decision 0012 says what does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

from replication.naming.internal_topics import BROKER_TOPICS
from replication.state import InventoryPart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.client.admin import TopicInfo

    Known = Mapping[str, "InventoryTopic"]

AGREEING_LOOKS = 3  # in a row, by different brokers, before the inventory is complete
LONGEST_S = 60.0  # a source on which topics are created all the time never agrees with itself
_TOPICS_PER_PART = 500  # 40 to 300 KB: below what a broker accepts in one record


class InventoryTopic(NamedTuple):
    """A topic of an inventory; ``selected``: by the flow, when it first started."""

    topic_id: str
    partitions: int
    selected: bool


class PartitionStart(NamedTuple):
    """Where a partition without a copy position begins: fields of ``PartitionPlan``."""

    created_later: bool = False
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SourceInventory:
    """What the source had at ``begun_ms``. Not ``complete``: topics of that time may be missing."""

    begun_ms: int
    topics: Known = field(default_factory=dict)
    complete: bool = False

    def begin(self, topic: TopicInfo, number: int, *, prompt: bool) -> PartitionStart:
        """Return where a partition begins; ``prompt``: it is in the very first plan of the flow.

        A partition that was there, and that is planned later than promptly, begins at the flow's
        first start: its records since then belong to the copy. One of a topic that the flow
        selects only since the file was changed begins at its end.
        """
        known = self.topics.get(topic.name)
        if self.complete and not _is_part(known, topic, number):
            return PartitionStart(created_later=True)
        if prompt or (self.complete and known is not None and not known.selected):
            return PartitionStart()
        return PartitionStart(since_ms=self.begun_ms)


def _is_part(known: InventoryTopic | None, topic: TopicInfo, number: int) -> bool:
    return known is not None and known.topic_id == topic.topic_id and number < known.partitions


# Of a flow that copied before inventories were kept: what has no position was created later.
NOT_KEPT = SourceInventory(0, complete=True)


@dataclass(frozen=True, slots=True)
class FirstLooks:
    """How far the first looks at a source agree. None of them alone is an inventory."""

    topics: Known = field(default_factory=dict)  # of all looks
    agreeing: int = 0  # looks in a row that showed nothing new
    since_s: float | None = None  # the first look that showed any topic

    def after(
        self,
        listed: Mapping[str, TopicInfo],
        selected: Collection[str],
        now_s: float,
    ) -> Self:
        """Return this with one more look. An empty listing, or none but brokers' topics, is none.

        ``selected`` are those that the flow selects.
        """
        if BROKER_TOPICS.issuperset(listed):
            return replace(self, agreeing=0)
        chosen = frozenset(selected)
        merged = {**self.topics}
        for name, each in listed.items():
            known = merged.get(name, InventoryTopic("", 0, selected=False))
            fewest = known.partitions if known.topic_id == each.topic_id else 0
            merged[name] = InventoryTopic(
                each.topic_id, max(each.partitions, fewest), selected=name in chosen
            )
        return replace(
            self,
            topics=merged,
            agreeing=self.agreeing + 1 if merged == self.topics else 1,
            since_s=now_s if self.since_s is None else self.since_s,
        )

    def agree(self, now_s: float) -> bool:
        """Return whether what no look has shown was not there."""
        expired = self.since_s is not None and now_s - self.since_s >= LONGEST_S
        return self.agreeing >= AGREEING_LOOKS or expired


def parts_of(flow: str, inventory: SourceInventory) -> tuple[InventoryPart, ...]:
    """Return the records of an inventory, in the order in which to write them."""
    if not inventory.complete:
        return (InventoryPart(flow, 0, inventory.begun_ms),)
    rest = iter(sorted(inventory.topics.items()))
    slices = iter(lambda: dict(islice(rest, _TOPICS_PER_PART)), {})
    parts = [
        InventoryPart(flow, number, inventory.begun_ms, known=some)
        for number, some in enumerate(slices, 1)
    ]
    return (*parts, InventoryPart(flow, 0, inventory.begun_ms, len(parts)))


def inventory_of(flow: str, records: Iterable[object]) -> SourceInventory | None:
    """Return the inventory that the records of the status topic hold; None: there is none."""
    parts = {e.part: e for e in records if isinstance(e, InventoryPart) and e.flow == flow}
    if (head := parts.get(0)) is None:
        return None
    numbers = range(1, (head.parts or 0) + 1)
    if head.parts is None or not parts.keys() >= set(numbers):
        return SourceInventory(head.begun_ms)
    known = {name: InventoryTopic(*e) for n in numbers for name, e in parts[n].known.items()}
    return SourceInventory(head.begun_ms, known, complete=True)
