"""Ask again where a Fetch response leaves open whether a source was truncated or a batch damaged.

After OFFSET_OUT_OF_RANGE the offsets of the source's log are requested, and whether it knows our
leader epoch; where a batch cannot be read, the batches around it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.log_end import confirmed_end
from replication.client.network import PartitionReader
from replication.copier.fetch.damaged_batch import DamagedBatch
from replication.copier.partition.broker_errors import (
    PartitionError,
    Recovery,
    out_of_range,
    rewritten,
)
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import EARLIEST_TIMESTAMP, NO_LEADER_EPOCH

if TYPE_CHECKING:
    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy

_LOCATE_S = 5.0


@dataclass(frozen=True, slots=True)
class Unclear:
    """Partitions whose error further requests find."""

    outside: list[PartitionCopy] = field(default_factory=list)  # their positions are not in the log
    damaged: list[PartitionCopy] = field(default_factory=list)  # what is there could not be read

    def __bool__(self) -> bool:
        return bool(self.outside or self.damaged)


async def locate(
    source: Network, unclear: Unclear, *, committed: bool
) -> list[tuple[PartitionCopy, PartitionError]]:
    """Return the errors of partitions; one that can be read after all has none."""
    partitions = [*unclear.outside, *unclear.damaged]
    found = await asyncio.gather(
        *(_located(source, each) for each in unclear.outside),
        *(_damage(source, each, committed=committed) for each in unclear.damaged),
    )
    pairs = zip(partitions, found, strict=True)
    return [(partition, error) for partition, error in pairs if error is not None]


async def _damage(
    source: Network, partition: PartitionCopy, *, committed: bool
) -> PartitionError | None:
    try:
        async with asyncio.timeout(_LOCATE_S):
            return await DamagedBatch(source, partition, committed).error()
    except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
        return PartitionError(
            Recovery.RETRY, str(problem) or "the source does not return the batch in time"
        )


async def _located(source: Network, partition: PartitionCopy) -> PartitionError:
    try:
        async with asyncio.timeout(_LOCATE_S):
            end = await confirmed_end(source, partition.source, partition.position)
            start = await source.offset_at(partition.source, EARLIEST_TIMESTAMP)
            if start <= partition.position <= end and await _lacks_epoch(source, partition):
                return rewritten(partition.position, partition.last_epoch)
    except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
        return PartitionError(
            Recovery.RETRY, str(problem) or "the source does not return its offset range"
        )
    return out_of_range(partition.position, start, end)


async def _lacks_epoch(source: Network, partition: PartitionCopy) -> bool:
    """Say whether the source's leader knows no leader epoch as high as that of our last batch.

    Then it answers OFFSET_OUT_OF_RANGE within its log (KIP-320, ``Partition.readRecords``). Without
    the epoch it does not, unless retention has passed the position since its log start was read.
    """
    if partition.last_epoch == NO_LEADER_EPOCH:
        return False
    reading = PartitionReader(source, partition.source, "locate")
    options = FetchOptions(max_wait_ms=0, min_bytes=0)
    for last_epoch, is_outside in ((partition.last_epoch, True), (NO_LEADER_EPOCH, False)):
        found = await reading.fetch(partition.position, options, last_epoch)
        if found is None or (found.error == ErrorCode.OFFSET_OUT_OF_RANGE) is not is_outside:
            return False
    return True
