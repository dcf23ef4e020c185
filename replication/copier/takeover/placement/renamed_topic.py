"""A partition whose topic has another name on the target: ends the old copy, begins the new.

A position holds for one target topic. Behind an unclean end it lags, so the copy under the old name
is taken over and ended there first: otherwise the new topic would repeat what the old one has (D).
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.copier.takeover.source_scan import SourceScan
from replication.errors import ReplicationError
from replication.model import EARLIEST_TIMESTAMP, NO_LEADER_EPOCH, PartitionState
from replication.records.batch import walk
from replication.records.content_search import ends_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.model import PartitionPlan
    from replication.records.codec import BatchRecord
    from replication.state import Anchor

_LOG_START_S = 3.0


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


def halt_under_old_name(partition: PartitionCopy) -> None:
    """Halt a partition whose old copy could not be ended; a state with choices remains."""
    if partition.state in {PartitionState.RUNNING, PartitionState.WAITING}:
        why = partition.status.reason or "the source does not show where it ended"
        reason = f"its copy in {partition.target.topic} has not ended yet: {why}"
        partition.halt(PartitionState.WAITING, reason)


@dataclass(slots=True)
class _Skipped:
    """Counts the records that a copy has; ``after``: one past the last of them, when it is read."""

    count: int
    seen: int = 0
    after: int | None = None
    last: BatchRecord | None = None  # before ``after``

    def add(self, records: Sequence[BatchRecord], offsets: Sequence[int]) -> None:
        if self.seen < self.count <= self.seen + len(offsets):
            self.last = records[self.count - self.seen - 1]
            self.after = offsets[self.count - self.seen - 1] + 1
        self.seen += len(offsets)


def _is_last_own(partition: PartitionCopy, record: BatchRecord) -> bool:
    if partition.counted.last is None:
        return True
    (copied,) = walk(memoryview(partition.counted.last), partition.target)
    return ends_with(copied, record, partition.target)


async def find_ends(source: Network, partitions: Sequence[PartitionCopy]) -> None:
    """Set counted partitions to the end of their copies: as many source records behind the anchor.

    A copy that goes on finds it while it copies (C). If the source does not answer, has not that
    many records, was compacted or rewritten in between, or one cannot be read, a partition keeps
    its position, which is not ``exact``. A log start that moved past the anchor is survived.
    """
    starts = await asyncio.gather(*(_log_start(source, each) for each in partitions))
    for partition, start in zip(partitions, starts, strict=True):
        if start is not None:
            with contextlib.suppress(ReplicationError):
                await _find_end(source, partition, start)


async def _log_start(source: Network, partition: PartitionCopy) -> int | None:
    try:
        async with asyncio.timeout(_LOG_START_S):
            return await source.offset_at(partition.source, EARLIEST_TIMESTAMP)
    except (TimeoutError, ReplicationError):
        return None


async def _find_end(source: Network, partition: PartitionCopy, log_start: int) -> None:
    """Find the end behind ``log_start``, or before it: then the next copy notes what is lost.

    Of the counted records, at most one per offset was in what retention deleted at the source.
    """
    anchor = partition.claimed.source or 0
    gap, epoch = max(0, log_start - anchor), NO_LEADER_EPOCH
    skipped = _Skipped(partition.counted.skip - gap)
    if skipped.count > 0:
        scan = SourceScan(source, partition, skipped, skipped.count, anchor + gap, counts=True)
        await scan.run()
        epoch = scan.epoch_before(skipped.after or 0)
        if skipped.last is not None and not _is_last_own(partition, skipped.last):
            return
    after = skipped.after if skipped.count > 0 else anchor + partition.counted.skip
    if after is not None:
        partition.go_on_at(after, epoch)
