"""A partition whose topic has another name on the target: ends the old copy, begins the new.

A position holds for one target topic. Behind an unclean end it lags, so the copy under the old name
is taken over and ended there first: otherwise the new topic would repeat what the old one has (D).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.copier.partition.position import Position
from replication.copier.takeover.source_scan import SourceScan
from replication.errors import CorruptBatch
from replication.model import PartitionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.model import PartitionPlan
    from replication.records.codec import Record
    from replication.state import Anchor


def renamed(ended: Anchor, target_topic: str, end: int, now_ms: int) -> Anchor:
    """Return the position from which ``target_topic`` continues a copy that ended cleanly.

    ``end`` is the log end of the new target partition. Offsets before it are not in this topic, so
    they cannot be translated: the old topic, ``former``, has them.
    """
    return replace(
        ended,
        target_topic=target_topic,
        target_topic_id="",
        target=end,
        former=ended.target_topic,
        since=(ended.source or 0, end),
        run=None,  # offset points of two target topics have nothing in common
        appenders=(),
        state=PartitionState.WAITING,
        reason="",
        at_ms=now_ms,
    )


def under_old_name(plan: PartitionPlan, known: Anchor | None) -> PartitionPlan | None:
    """Return the plan that ends an unclean copy under its old name; None: there is none to end."""
    if plan.name_change is None or known is None or known.source is None or known.clean:
        return None
    if known.target_topic == plan.name_change.new:
        return None
    target = plan.target._replace(topic=known.target_topic)
    return replace(plan, target=target, name_change=None)


@dataclass(slots=True)
class _Skipped:
    """Counts the records that a copy has; ``after``: one past the last of them, when it is read."""

    count: int
    seen: int = 0
    after: int | None = None

    def add(self, records: Sequence[Record], offsets: Sequence[int]) -> None:
        if self.seen < self.count <= self.seen + len(offsets):
            self.after = offsets[self.count - self.seen - 1] + 1
        self.seen += len(offsets)


async def find_end(source: Network, partition: PartitionCopy) -> None:
    """Set a counted partition to the end of its copy: as many source records behind its anchor (C).

    A copy that goes on finds it while it copies. If the source has not that many, or one cannot be
    read, the partition keeps its position. Raises ClusterUnavailable.
    """
    skipped, start = _Skipped(partition.skip), partition.claimed.source or 0
    try:
        await SourceScan(source, partition, skipped, partition.skip, start).run()
    except CorruptBatch:
        return
    if skipped.after is not None:
        partition.resume_at(skipped.after)
        partition.skip, partition.done = 0, partition.fetched_to
        partition.set_position(Position(skipped.after, partition.counted))
