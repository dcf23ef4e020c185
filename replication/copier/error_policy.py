"""Carry out the ``on.*`` policy of a failed partition: halt it, or skip and record the loss.

No silent data loss: the loss is written to the target before the position moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.copier.partition.refused_batches import (
    drop_refused,
    go_back,
    jump,
    position_after_refused,
)
from replication.model import NO_LEADER_EPOCH, OffsetAndEpoch, OffsetRange, PartitionState
from replication.settings.state_policies import STOP, choose
from replication.state import Loss

if TYPE_CHECKING:
    from replication.client.state_topic.state_log import StateLog
    from replication.copier.dead_letters import DeadLetters
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.position import Position
    from replication.copier.spec import UnitSpec
    from replication.state import Anchor, Stored


@dataclass(slots=True)
class ErrorPolicy:
    """Applies the flow's policies and operators' decisions to the partitions of a unit."""

    spec: UnitSpec
    anchors: StateLog
    dead_letters: DeadLetters

    async def decide(self, partition: PartitionCopy, error: PartitionError) -> None:
        """Halt ``partition`` or let it continue. Only when no response is outstanding.

        If the outcome of an append is unknown, a takeover counts first, and the same error occurs
        again. Raises ClusterUnavailable or ClusterRejected, and then nothing has changed.
        """
        position = partition.acked.source if partition.acked else None
        choice = choose(error.state, position, self.spec.policies, partition.plan.decision)
        if choice == STOP or error.resume is None or error.lost is None:
            partition.halt(error.state, error.reason)
            return
        if partition.in_doubt:
            return  # its last commit is read first
        if not partition.queue.settled:
            partition.error = PartitionError(Recovery.TAKE_OVER, error.reason)
            return
        if error.state is PartitionState.REFUSED:
            await self._skip(partition, error)
        elif error.state is PartitionState.SOURCE_CORRUPT:
            await self._pass_over(partition, error.resume, error)
        else:
            await self.anchors.append([loss_of(partition, error)])
            partition.counters.lost += _count(error)
            if error.resume >= partition.position:
                jump(partition, error.resume)
            else:
                go_back(partition, OffsetAndEpoch(error.resume, error.epoch))
        partition.error = None

    async def _skip(self, partition: PartitionCopy, error: PartitionError) -> None:
        """Skip a rejected record.

        The anchor is past it before anything else is appended: a later takeover counts records
        that are on the target, and this one is not (C).
        """
        to, lost = position_after_refused(partition), partition.counters.lost + _count(error)
        await self.dead_letters.send(partition, error.reason)
        epoch = partition.queue.in_flight[0].epoch_after
        anchor = _anchor_at(to, partition, lost, epoch)
        await self.anchors.append([loss_of(partition, error), anchor])
        drop_refused(partition)
        partition.counters.lost = lost

    async def _pass_over(self, partition: PartitionCopy, to: int, error: PartitionError) -> None:
        """Continue behind a damaged batch of the source; nothing is queued.

        Records that are on the target already were copied before the batch was damaged: they are
        no loss. Once none of them is left to skip the anchor is past the batch before anything else
        is appended: from the batch on nothing can be counted (C).
        """
        first, after = error.lost or OffsetRange(to, to)
        error = replace(error, lost=OffsetRange(min(first + partition.counted.skip, after), after))
        lost = partition.counters.lost + _count(error)
        stored: list[Stored] = [loss_of(partition, error)]
        if partition.counted.skip <= to - partition.position:
            stored.append(_anchor_at(partition.behind_counted(to), partition, lost))
        await self.anchors.append(stored)
        partition.counters.lost = lost
        jump(partition, to)


def _anchor_at(
    position: Position, partition: PartitionCopy, lost: int, epoch: int = NO_LEADER_EPOCH
) -> Anchor:
    """Return the anchor at ``position``; ``epoch``: of the source's batch before it, if known."""
    return replace(
        partition.anchor(now_ms()),
        source=position.source,
        target=position.target,
        lost=lost,
        source_epoch=epoch,
    )


def loss_of(partition: PartitionCopy, error: PartitionError) -> Loss:
    """Return the record of the offsets that the copy lacks because of ``error``."""
    first, after = error.lost or OffsetRange(0, 0)
    return Loss(
        partition.flow,
        *partition.source,
        partition.topic_id.hex(),
        first,
        error.state,
        after,
        error.reason,
        now_ms(),
    )


def _count(error: PartitionError) -> int:
    first, after = error.lost or OffsetRange(0, 0)
    return after - first
