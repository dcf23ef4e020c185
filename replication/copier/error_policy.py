"""What becomes of a lane that needs an answer: it is parked, or goes on and the loss is written.

Nothing is passed over in silence: the loss stands on the target before the position moves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.copier.partition.broker_errors import Remedy, Trouble
from replication.copier.partition.refused_batches import (
    drop_refused,
    go_back,
    jump,
    without_refused,
)
from replication.model import OffsetRange, PartitionState
from replication.settings.state_policies import STOP, choose
from replication.state import Loss

if TYPE_CHECKING:
    from replication.client.state_log import StateLog
    from replication.copier.dead_letters import DeadLetters
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.spec import UnitSpec


@dataclass(slots=True)
class Judge:
    """Applies the flow's policies, and what a person decided, to the lanes of a unit."""

    spec: UnitSpec
    anchors: StateLog
    letters: DeadLetters

    async def judge(self, lane: Lane, trouble: Trouble) -> None:
        """Park ``lane`` or let it go on. Only when no answer is due.

        Where it is not known of every append how it ended, counting comes first: the lane asks for
        that, and will meet the same event again. Raises ClusterUnavailable or ClusterRejected, and
        then nothing has changed.
        """
        position = lane.acked.source if lane.acked else None
        choice = choose(trouble.state, position, self.spec.policies, lane.plan.decision)
        if choice == STOP or trouble.resume is None or trouble.lost is None:
            lane.park(trouble.state, trouble.reason)
            return
        if not lane.queue.settled:
            lane.trouble = Trouble(Remedy.TAKE_OVER, trouble.reason)
            return
        if trouble.state is PartitionState.REFUSED:
            await self._skip(lane, trouble)
        else:
            await self.anchors.append([loss_of(lane, trouble)])
            lane.counters.lost += _count(trouble)
            forward = trouble.resume >= lane.position
            (jump if forward else go_back)(lane, trouble.resume)
        lane.trouble = None

    async def _skip(self, lane: Lane, trouble: Trouble) -> None:
        """Leave a refused record out.

        The anchor is past it before anything else is appended: a later takeover counts records
        that are on the target, and this one is not (C).
        """
        to, lost = without_refused(lane), lane.counters.lost + _count(trouble)
        await self.letters.send(lane, trouble.reason)
        now = int(time.time() * 1000)
        anchor = replace(lane.anchor(now), source=to.source, target=to.target, lost=lost)
        await self.anchors.append([loss_of(lane, trouble), anchor])
        drop_refused(lane)
        lane.counters.lost = lost


def loss_of(lane: Lane, trouble: Trouble) -> Loss:
    """Return the record of what ``trouble`` takes from the copy."""
    first, after = trouble.lost or OffsetRange(0, 0)
    return Loss(
        lane.flow,
        *lane.source,
        lane.topic_id.hex(),
        first,
        trouble.state,
        after,
        trouble.reason,
        int(time.time() * 1000),
    )


def _count(trouble: Trouble) -> int:
    first, after = trouble.lost or OffsetRange(0, 0)
    return after - first
