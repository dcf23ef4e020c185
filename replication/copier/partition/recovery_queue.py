"""Queue the partitions that need a recovery, and the failure of a fetcher."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy


@dataclass(slots=True)
class RecoveryQueue:
    """Filled by whoever sees an error; emptied by the upkeep of the unit's partitions."""

    partitions: set[PartitionCopy] = field(default_factory=set)
    failure: BaseException | None = None  # what ended a fetcher; the unit ends with it
    added: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, partition: PartitionCopy) -> None:
        """Request the recovery of a partition without outstanding responses."""
        if not partition.leaving:
            self.partitions.add(partition)
            self.added.set()

    def discard(self, partition: PartitionCopy) -> None:
        """Withdraw the request, if there is one."""
        self.partitions.discard(partition)

    def fail(self, failure: BaseException) -> None:
        """Let the unit end with ``failure``."""
        self.failure = failure
        self.added.set()
