"""The offsets at which a partition may start, asked of source and target."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.client.log_end import confirmed_end
from replication.copier.takeover.placement.waiting_partitions import wait
from replication.errors import ReplicationError
from replication.model import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.takeover.connections import Connections
    from replication.model import PartitionPlan

_LEADER_WAIT_S = 3.0  # for the leader of a partition that was just created


def first_offset_time(start: str, plan: PartitionPlan) -> int:
    """Return the timestamp for ListOffsets: ms, LATEST_TIMESTAMP or EARLIEST_TIMESTAMP.

    ``start`` is ``copy.start``. The plan says which partitions were created after the flow first
    started: only the driver knows what the source had then (decision 0012).
    """
    if plan.start is not None or plan.created_later or start == "earliest":
        return EARLIEST_TIMESTAMP
    if start == "latest":
        return LATEST_TIMESTAMP if plan.since_ms is None else plan.since_ms
    return int(start)


@dataclass(frozen=True, slots=True)
class StartOffsets:
    """Asks for offsets; a partition about which nobody answers waits."""

    connections: Connections

    async def at(
        self, partition_copy: PartitionCopy, time: int, *, of_target: bool = False
    ) -> int | None:
        """Return an offset at source or target; on failure None, and the partition waits."""
        end = self.connections.target if of_target else self.connections.source
        partition = partition_copy.target if of_target else partition_copy.source
        try:
            async with asyncio.timeout(_LEADER_WAIT_S):
                found = await end.offset_at(partition, time)
                return found if found >= 0 else await end.offset_at(partition, LATEST_TIMESTAMP)
        except (TimeoutError, ReplicationError) as problem:
            wait(partition_copy, str(problem) or "the source or target partition has no leader")
            return None

    async def target_end(self, partition: PartitionCopy, known: int) -> int | None:
        """Return the end of the target; below ``known`` only if several answers confirm it."""
        try:
            async with asyncio.timeout(_LEADER_WAIT_S):
                return await confirmed_end(self.connections.target, partition.target, known)
        except (TimeoutError, ReplicationError) as problem:
            wait(partition, str(problem) or "the target partition has no leader")
            return None
