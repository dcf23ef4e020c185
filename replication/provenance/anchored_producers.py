"""What the anchors on a cluster say of the producer ids that flows have appended with there.

Each flow keeps a second copy of its registry entries among its anchors. So a registry that has lost
entries, or that was created again, is completed or contradicted: an anchor names an appender that
nothing knows, or began before the oldest entry of its flow was written (F).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterRejected
from replication.model import NO_PRODUCER_ID
from replication.state import PRODUCERS_TOPIC, Anchor, Claim, ProducerEntry, is_anchors_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.client.network import Network

_CLOCKS_DIFFER_MS = 60_000  # an entry and an anchor may be written on different machines
_LOST = (
    f"{PRODUCERS_TOPIC} on {{cluster}} has lost entries: {{flow}} has copied to that cluster "
    "before, and {why}, so its copies there cannot be distinguished from its own records, and "
    "would be copied back. Start the driver of {flow}: it restores what its anchors prove. If this "
    "remains, delete the topics that it copied and let it copy them again"
)


@dataclass(slots=True)
class AnchoredProducers:
    """Reads the anchors of all flows into one cluster; each time from where the last read ended."""

    cluster: Network
    entries: dict[int, ProducerEntry] = field(default_factory=dict)  # the second copies
    _logs: dict[str, StateLog] = field(default_factory=dict)
    _newest: dict[bytes, Anchor | Claim] = field(default_factory=dict)

    async def read(self) -> None:
        """Read on. Read it before the registry, to which each id was written before (F).

        Topics that our user may not read are left out. Raises ClusterUnavailable.
        """
        names = [each for each in await self.cluster.topic_names() if is_anchors_topic(each)]
        await self.cluster.refresh(names)
        for name in names:
            log = self._logs.setdefault(name, StateLog(self.cluster, name))
            try:
                found = await log.read_on()
            except ClusterRejected:
                continue
            for each in found:
                if isinstance(each, ProducerEntry):
                    self.entries[each.producer_id] = each
                elif isinstance(each, Anchor | Claim):
                    self._newest[each.key()] = each

    def contradiction(self, known: Mapping[int, ProducerEntry]) -> str:
        """Return why ``known`` is not all that was ever registered; empty: nothing shows that."""
        oldest: dict[str, int] = {}
        for entry in known.values():
            oldest[entry.flow] = min(entry.at_ms, oldest.get(entry.flow, entry.at_ms))
        for each in self._newest.values():
            if why := next(_doubts(each, known, oldest), ""):
                cluster = self.cluster.cluster_id
                return _LOST.format(cluster=cluster, flow=each.flow, why=why)
        return ""


def _doubts(
    found: Anchor | Claim, known: Mapping[int, ProducerEntry], oldest: Mapping[str, int]
) -> Iterator[str]:
    where = f"{found.topic}-{found.partition}"
    if any(number == NO_PRODUCER_ID for _, number in found.appenders):
        return  # a producer without an id has no entry: the target grants none
    for name, number in found.appenders:
        if number not in known:
            yield f"no entry has the producer id {number} ({name or 'unnamed'}) of {where}"
    if isinstance(found, Anchor) and found.run is not None:
        began = found.run[0] + _CLOCKS_DIFFER_MS
        if oldest.get(found.flow, began + 1) > began:
            yield f"its oldest entry is newer than its copy of {where}"
