"""Who else appends to our target partitions: other flows of ours may, anybody else is named.

An append that lands further on than where our last one ended shows that somebody came between. The
batches there tell the producer id, and the registry tells whether it is one of Isthmus' (F): so
merging is no stranger. A partition is looked at now and then, not at every gap.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.fetch_session import FetchOptions
from replication.client.network import Reading
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import PartitionState
from replication.records.batch import walk
from replication.settings.state_policies import STOP, choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitSpec
    from replication.provenance.producer_registry import SourceRegistry

_EVERY_S = 1.0
_AGAIN_S = 30.0  # between two looks at a partition
_MOST_READ = 256 << 10  # bytes of one look


@dataclass(slots=True)
class AppendGaps:
    """Where an append landed further on than our last one ended: somebody came between.

    ``expected``: another flow reads the target beside us, so records that are born there are no
    surprise.
    """

    expected: bool = False
    starts: dict[PartitionCopy, int] = field(default_factory=dict)  # target offset of the gap
    _checked_at: dict[PartitionCopy, float] = field(default_factory=dict)

    def note(self, partition: PartitionCopy, start: int) -> None:
        """Have somebody look at target offset ``start``, unless that was done lately."""
        if self.expected:
            return
        checked_at = self._checked_at.get(partition)
        if checked_at is None or time.monotonic() - checked_at >= _AGAIN_S:
            self.starts.setdefault(partition, start)

    def checked(self, partition: PartitionCopy) -> None:
        """Note that somebody has looked at the lane's gap."""
        del self.starts[partition]
        self._checked_at[partition] = time.monotonic()


@dataclass(slots=True)
class ForeignWriters:
    """Looks for foreign records in the gaps between a unit's appends."""

    spec: UnitSpec
    target: Network
    registry: SourceRegistry  # of the target
    gaps: AppendGaps
    dispatch: Callable[[PartitionCopy], None]  # a lane has trouble

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            with contextlib.suppress(ClusterUnavailable, ClusterRejected):  # the next second, then
                while self.gaps.starts:
                    partition, start = next(iter(self.gaps.starts.items()))
                    await self._check(partition, start)
                    self.gaps.checked(partition)

    async def _check(self, partition: PartitionCopy, begin: int) -> None:
        found = await self._producers(partition, begin)
        await self.registry.look_up(found)
        own = partition.queue.writer.producer.producer_id  # NO_PRODUCER_ID is in no registry
        ours = {*self.registry.origins.entries, own}
        foreign_writers = {who: offset for who, offset in found.items() if who not in ours}
        if foreign_writers:
            self._report(partition, foreign_writers)

    async def _producers(self, partition: PartitionCopy, begin: int) -> dict[int, int]:
        """Return each producer id with records from ``begin`` on, and the offset of its first."""
        options = FetchOptions(max_wait_ms=0, max_bytes=_MOST_READ, partition_bytes=_MOST_READ)
        answer = await Reading(self.target, partition.target, "strangers").fetch(begin, options)
        found: dict[int, int] = {}
        if answer is None:
            return found
        for batch in walk(answer.records, partition.target, answer.legacy):
            if not batch.is_control and batch.last >= begin:
                found.setdefault(batch.producer_id, batch.base)
        return found

    def _report(self, partition: PartitionCopy, foreign_writers: dict[int, int]) -> None:
        who, offset = next(iter(foreign_writers.items()))
        name = "a producer without a producer id" if who < 0 else f"producer id {who}"
        reason = f"foreign {name} writes to the target topic: offset {offset}"
        position = partition.acked.source if partition.acked else None
        state = PartitionState.TARGET_FOREIGN
        if choose(state, position, self.spec.policies, partition.plan.decision) == STOP:
            partition.record_error(PartitionError(Recovery.DECIDE, reason, state))
            self.dispatch(partition)
        else:
            partition.remark = reason
            partition.touch()
