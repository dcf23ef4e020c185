"""At-least-once copies: a producer without a transactional id, which cannot fence or be fenced.

A plain producer id has no transactional id, so no marker fences its late appends, and the records
that it appended are never counted. After a crash the records behind the last anchor are copied
again. The new owner resumes at the anchor's source offset. First it moves the anchor's target
offset to the log end, with itself as the only appender: a later owner that can count then counts
only what came after that.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from replication.client.log_end import confirmed_end
from replication.client.network import NotGranted
from replication.client.producer_identity import ProducerIdentity
from replication.clock import now_ms
from replication.copier.partition.broker_errors import target_reset
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.position import Position
from replication.model import NO_PRODUCER, Mode, PartitionState, ProducerIdAndEpoch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.client.network import Network
    from replication.client.state_topic.state_log import StateLog

_MAX_EPOCH = 32_000  # of a producer id; the protocol ends at 32,767


@dataclass(eq=False)
class AtLeastOnceCopy(PartitionCopy):
    """A partition copied by a plain producer id, or by none: then one batch at a time."""

    mode: ClassVar[str] = Mode.AT_LEAST_ONCE

    @property
    def sends(self) -> bool:
        alone = self.queue.writer.producer == NO_PRODUCER and self.queue.in_flight
        return not alone and super().sends

    def must_count(self, now_ms: int) -> bool:
        return False  # it cannot


async def plain_identity(
    target: Network, last: ProducerIdAndEpoch, generation: int
) -> ProducerIdentity:
    """Return a producer without a transactional id.

    It gets a new epoch of our ``last`` producer id, so that the registry does not grow with every
    epoch of the driver; else a new id; no producer id where the target does not grant one.
    """
    producer = last._replace(epoch=last.epoch + 1)
    if last == NO_PRODUCER or producer.epoch > _MAX_EPOCH:
        try:
            producer = await target.plain_producer_id()
        except NotGranted:
            producer = NO_PRODUCER
    return ProducerIdentity("", *producer, generation)


def cannot_count(partition: PartitionCopy) -> bool:
    """Say whether a producer that no marker fences may have appended since the anchor."""
    return any(not name for name, _ in partition.claimed.appenders)


async def ends_of(
    target: Network, partitions: Sequence[PartitionCopy]
) -> Mapping[PartitionCopy, int]:
    """Return the end offset of each target partition; halt those whose target lost records."""
    ends = await asyncio.gather(*(_end_of(target, each) for each in partitions))
    found = dict(zip(partitions, ends, strict=True))
    for partition, end in found.items():
        if partition.acked is not None and end < partition.acked.target:
            error = target_reset(end, partition.acked.target)
            partition.halt(error.state, error.reason)
    return found


async def _end_of(target: Network, partition: PartitionCopy) -> int:
    return await confirmed_end(
        target, partition.target, partition.acked.target if partition.acked else 0
    )


async def back_to_anchors(ends: Mapping[PartitionCopy, int], anchors: StateLog) -> None:
    """Let partitions resume at their anchors, whose target offset is moved to ``ends`` first.

    The anchor is acked before the first append: all records counted from it must be its owner's.
    """
    partitions = [each for each in ends if each.state is PartitionState.RUNNING]
    now = now_ms()
    for partition in partitions:
        source = partition.acked.source if partition.acked else 0
        partition.acked, partition.exact = Position(source, ends[partition]), True
        partition.counted.skip_nothing()
        # The new anchor: a claim that is written again must not fall behind it.
        partition.claimed = partition.anchor(now)
    await anchors.append([each.claimed for each in partitions])
    for partition in partitions:
        partition.error = None
