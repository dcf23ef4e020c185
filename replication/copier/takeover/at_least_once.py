"""Copy where nobody can be fenced: after a crash what followed the last anchor may come again.

A plain producer id has no transactional id, so no marker bars its late appends and nothing that it
appended is ever counted. Whoever takes over goes back to the anchor's source offset, and first
moves the anchor's target behind what stands there, with itself as the only appender: a later owner
that can count, counts only what came after that.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from replication.client.log_end import believed_end
from replication.client.network import NotGranted
from replication.client.producer_identity import ProducerIdentity
from replication.copier.partition.broker_errors import target_reset
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.position import Position
from replication.model import NO_PRODUCER, NO_RECORDS, Mode, PartitionState, ProducerIdAndEpoch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.client.network import Network
    from replication.client.state_log import StateLog

_MOST_EPOCHS = 32_000  # of a producer id; the protocol ends at 32,767


@dataclass(eq=False)
class AtLeastOnceCopy(PartitionCopy):
    """A lane of a plain producer, or of none at all: then batches go one by one, unnumbered."""

    mode: ClassVar[str] = Mode.AT_LEAST_ONCE

    @property
    def sends(self) -> bool:
        alone = self.queue.writer.producer == NO_PRODUCER and self.queue.in_flight
        return not alone and super().sends


async def plain_identity(
    target: Network, last: ProducerIdAndEpoch, generation: int
) -> ProducerIdentity:
    """Return who appends without a transactional id.

    A new epoch of our ``last`` producer id, so that the registry does not grow with every epoch of
    the driver; else a new id; without a producer id where the target gives not even that.
    """
    producer = last._replace(epoch=last.epoch + 1)
    if last == NO_PRODUCER or producer.epoch > _MOST_EPOCHS:
        try:
            producer = await target.plain_producer_id()
        except NotGranted:
            producer = NO_PRODUCER
    return ProducerIdentity("", *producer, generation)


def cannot_count(partition: PartitionCopy) -> bool:
    """Say whether somebody whom no marker bars may have appended since the anchor."""
    return any(not name for name, _ in partition.claimed.appenders)


async def ends_of(
    target: Network, partitions: Sequence[PartitionCopy]
) -> Mapping[PartitionCopy, int]:
    """Return where each lane's target partition ends; a lane whose target was emptied is parked."""
    connections = await asyncio.gather(*(_end_of(target, each) for each in partitions))
    found = dict(zip(partitions, connections, strict=True))
    for partition, end in found.items():
        if partition.acked is not None and end < partition.acked.target:
            told = target_reset(end, partition.acked.target)
            partition.halt(told.state, told.reason)
    return found


async def _end_of(target: Network, partition: PartitionCopy) -> int:
    return await believed_end(
        target, partition.target, partition.acked.target if partition.acked else 0
    )


async def back_to_anchors(connections: Mapping[PartitionCopy, int], anchors: StateLog) -> None:
    """Let lanes go on at their anchors, whose target is moved to ``connections`` first.

    The anchor is acked before the first append: what is counted from it must be all of its owner.
    """
    partitions = [each for each in connections if each.state is PartitionState.RUNNING]
    now = int(time.time() * 1000)
    for partition in partitions:
        source = partition.acked.source if partition.acked else 0
        partition.acked, partition.exact = Position(source, connections[partition]), True
        partition.skip, partition.found = 0, NO_RECORDS
        partition.claimed = partition.anchor(
            now
        )  # a claim that is written again must not go behind it
    await anchors.append([each.claimed for each in partitions])
    for partition in partitions:
        partition.error = None
