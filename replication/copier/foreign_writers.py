"""Detect producers other than Isthmus that write to our target partitions.

A gap between two of our appends shows that another producer wrote there. The batches in it have
its producer id, and the registry has all ids of Isthmus (F): so other flows that merge into the
partition are not foreign. A partition is checked from time to time, not at every gap.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.fetch_session import FetchOptions
from replication.client.network import PartitionReader
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch
from replication.model import NO_PRODUCER_ID, PartitionState
from replication.records.batch import walk
from replication.settings.state_policies import STOP, choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitSpec
    from replication.provenance.producer_registry import SourceRegistry

_EVERY_S = 1.0
_AGAIN_S = 30.0  # between two checks of a partition
_MOST_READ = 256 << 10  # bytes of one check


@dataclass(slots=True)
class AppendGaps:
    """Gaps between two of our appends, in which another producer wrote.

    ``expected``: another flow reads the target, so records that originate there are expected.
    """

    expected: bool = False
    starts: dict[PartitionCopy, int] = field(default_factory=dict)  # target offset of the gap
    _checked_at: dict[PartitionCopy, float] = field(default_factory=dict)

    def note(self, partition: PartitionCopy, start: int) -> None:
        """Request a check of target offset ``start``, unless the partition was checked lately."""
        if self.expected:
            return
        checked_at = self._checked_at.get(partition)
        if checked_at is None or time.monotonic() - checked_at >= _AGAIN_S:
            self.starts.setdefault(partition, start)

    def checked(self, partition: PartitionCopy) -> None:
        """Record that the partition's gap was checked."""
        del self.starts[partition]
        self._checked_at[partition] = time.monotonic()


@dataclass(slots=True)
class ForeignWriters:
    """Searches the gaps between a unit's appends for foreign producers."""

    spec: UnitSpec
    target: Network
    registry: SourceRegistry  # of the target
    gaps: AppendGaps
    dispatch: Callable[[PartitionCopy], None]  # handles a partition with an error

    async def run(self) -> None:
        """Check gaps until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            with contextlib.suppress(
                ClusterUnavailable, ClusterRejected
            ):  # it is tried again in a second
                while self.gaps.starts:
                    partition, start = next(iter(self.gaps.starts.items()))
                    await self._check(partition, start)
                    self.gaps.checked(partition)

    async def _check(self, partition: PartitionCopy, begin: int) -> None:
        try:
            found = await self._producers(partition, begin)
        except CorruptBatch as error:
            partition.status.remark = str(error)
            partition.touch()
            return
        await self.registry.look_up(found)
        own = partition.queue.writer.producer.producer_id  # NO_PRODUCER_ID is in no registry
        ours = {*self.registry.origins.entries, own}
        foreign_writers = {who: offset for who, offset in found.items() if who not in ours}
        if foreign_writers:
            self._report(partition, foreign_writers)

    async def _producers(self, partition: PartitionCopy, begin: int) -> dict[int, int]:
        """Return each producer id with records from ``begin`` on, and the offset of its first."""
        options = FetchOptions(max_wait_ms=0, max_bytes=_MOST_READ, partition_bytes=_MOST_READ)
        answer = await PartitionReader(self.target, partition.target, "foreign writers").fetch(
            begin, options
        )
        found: dict[int, int] = {}
        if answer is None:
            return found
        for batch in walk(answer.records, partition.target, answer.legacy):
            if not batch.is_control:
                found.setdefault(batch.producer_id, batch.base)
        return found

    def _report(self, partition: PartitionCopy, foreign_writers: dict[int, int]) -> None:
        who, offset = next(iter(foreign_writers.items()))
        name = f"producer id {who}" if who != NO_PRODUCER_ID else "producer without a producer id"
        reason = f"foreign {name} writes to the target topic: offset {offset}"
        position = partition.acked.source if partition.acked else None
        state = PartitionState.TARGET_FOREIGN
        if choose(state, position, self.spec.policies, partition.plan.decision) == STOP:
            partition.record_error(PartitionError(Recovery.DECIDE, reason, state))
            self.dispatch(partition)
        else:
            partition.status.remark = reason
            partition.touch()
