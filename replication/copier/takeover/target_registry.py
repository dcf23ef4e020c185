"""The target's registry of producer ids as one unit knows it, and its second copy.

Part of invariant F.

Each entry stands twice: in the registry, which all flows into the target share, and among the
flow's anchors. What one of the two topics has lost is restored from the other, also for units that
the flow no longer has. An id that both have lost is restored where an anchor names it as an
appender of the flow: a transactional id without a path belongs to records of the flow's source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.model import NO_PRODUCER_ID
from replication.provenance.origins import Origins
from replication.state import Anchor, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.client.state_topic.state_log import StateLog

_PATH = "~"  # in a transactional id: it forwards copies, see ``forwarding_id``


@dataclass(slots=True)
class TargetRegistry:
    """Reads and writes the registry on the target; ``anchors`` holds the second copies."""

    log: StateLog
    anchors: StateLog
    producers: Origins = field(default_factory=Origins)  # the registry's entries
    copies: dict[int, ProducerEntry] = field(default_factory=dict)  # those among the anchors
    _has_read: bool = False

    async def read(self) -> None:
        """Read the registry once: entries that come later are of other producers."""
        if not self._has_read:
            self.producers.learn(await self.log.read_on())
            self._has_read = True

    def note(self, entry: ProducerEntry) -> None:
        """Note an entry that was read among the anchors."""
        self.copies[entry.producer_id] = entry

    async def register(self, *entries: ProducerEntry) -> None:
        """Write entries unless they are registered; the registry first, then the copies (F)."""
        given = [each for each in entries if each.producer_id >= 0]
        new = [each for each in given if each.producer_id not in self.producers.entries]
        await self.log.append(new)
        self.producers.learn(new)
        known = [self.producers.entries[each.producer_id] for each in given]
        uncopied = [each for each in known if each.producer_id not in self.copies]
        await self.anchors.append(uncopied)
        self.copies |= {each.producer_id: each for each in uncopied}

    async def restore(self, flow: str, source_id: str, anchors: Iterable[Anchor]) -> None:
        """Write what the registry, or its second copy, lacks of ``flow``.

        ``anchors``: of the flow, all of the cluster ``source_id``.
        """
        known = {**self.copies, **self.producers.entries}
        mine = [each for each in known.values() if each.flow == flow]
        now, alias = now_ms(), flow.partition("->")[0]
        found = {
            number: ProducerEntry(
                number, flow, source_id, name, now, anchor.generation, (source_id,), alias
            )
            for anchor in anchors
            for name, number in anchor.appenders
            if name and _PATH not in name and number not in known
        }
        await self.register(*mine, *found.values())

    def ids(self, flow: str, anchors: Iterable[Anchor]) -> dict[int, str]:
        """Return the transactional ids of ``flow`` by producer id: those that any state names.

        NO_PRODUCER_ID, which an anchor may name, is left out: any client appends with it.
        """
        listed = [appender for each in anchors for appender in each.appenders]
        named = {number: name for name, number in listed if number != NO_PRODUCER_ID}
        entries = (*self.copies.values(), *self.producers.entries.values())
        return named | {e.producer_id: e.transactional_id for e in entries if e.flow == flow}
