"""Find out whether a batch of the source can be read, and from which offset on the log can be.

A broker does not check what it serves. It finds an offset by its sparse index, and from there by
the headers of batches: where a header is damaged it answers with an error, with nothing, or with a
later batch, for all offsets up to the next entry of the index.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.network import PartitionReader
from replication.copier.partition.broker_errors import (
    UNREADABLE,
    PartitionError,
    Recovery,
    corrupt,
    fetch_error,
)
from replication.copier.partition.intake import is_unread_before
from replication.errors import ClusterRejected, CorruptBatch
from replication.model import EARLIEST_LOCAL_TIMESTAMP, LATEST_TIMESTAMP, IsolationLevel
from replication.records.batch import claimed_ends, walk
from replication.records.codec import decode

if TYPE_CHECKING:
    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.records.batch import Batch

_CONNECTION = "damage"
_MOST_READ = 1 << 20  # bytes of one Fetch: the damaged batch, and one behind it
_MOST_PROBED = 128 << 10  # likewise, of one of many; a larger batch is returned whole
_NO_LEADER = "the source partition has no leader"
_NOT_LOCAL = "the source does not return these offsets from its tiered storage"


@dataclass(slots=True)
class DamagedBatch:
    """Reads the source at a partition's position, from its leader, without copying."""

    source: Network
    partition: PartitionCopy
    committed: bool  # isolation level read_committed
    _reading: PartitionReader = field(init=False)

    def __post_init__(self) -> None:
        self._reading = PartitionReader(self.source, self.partition.source, _CONNECTION)

    async def error(self) -> PartitionError | None:
        """Return why the batch at the position cannot be copied; None: it can be.

        Raises ClusterUnavailable or ClusterRejected.
        """
        position = self.partition.position
        found = await self._fetch(position, _MOST_READ)
        if found is None:
            return PartitionError(Recovery.RETRY, _NO_LEADER)
        if found.error and found.error not in UNREADABLE:
            return fetch_error(found.error)
        end = await self._end(found)
        try:
            batch = self._first(found)
        except CorruptBatch as error:
            return await self._corrupt(found, end, str(error))
        if batch is None:
            return await self._without_batch(found, end)
        if batch.base <= position or not is_unread_before(self.partition, batch.base):
            return None
        return await self._behind_gap(batch, end)

    async def _without_batch(self, found: Fetched, end: int) -> PartitionError | None:
        """Return the error for a response with an error code, or with nothing."""
        position = self.partition.position
        if position < end and found.error != ErrorCode.CORRUPT_MESSAGE and await self._is_remote():
            return PartitionError(Recovery.RETRY, _NOT_LOCAL)
        if not found.error:
            why = f"the source has offsets up to {end}, and returns nothing from {position}"
            return None if position >= end else await self._corrupt(found, end, why)
        error = fetch_error(found.error)
        damage = await self._corrupt(found, end, error.reason)
        is_damage = damage.resume is not None or found.error == ErrorCode.CORRUPT_MESSAGE
        return damage if is_damage else error

    async def _behind_gap(self, batch: Batch, end: int) -> PartitionError:
        """Return the error for a readable batch behind one that was seen before."""
        partition, position = self.partition, self.partition.position
        found = await self._next_readable(position, end)
        why = (
            f"reading {partition.source} at offset {position}: a batch began there, but the next "
            f"one that the source returns begins at {batch.base}"
        )
        readable = [each for each in (found, batch.base) if each is not None and each < end]
        return corrupt(position, min(readable, default=None), why)

    async def _corrupt(self, found: Fetched, end: int, why: str) -> PartitionError:
        position = self.partition.position
        for claimed in claimed_ends(found.records, position):
            if position < claimed <= end and await self._begins_at(claimed, end):
                return corrupt(position, claimed, why)
        return corrupt(position, await self._next_readable(position, end), why)

    async def _is_remote(self) -> bool:
        """Say whether the position is in tiered storage alone, which may be down or slow.

        The broker answers with UNKNOWN_SERVER_ERROR then, or with nothing; its own disk, on which
        the log continues, can be read. To skip up to there would lose what is only stored remotely.
        """
        source = self.partition.source
        try:
            local = await self.source.offset_at(source, EARLIEST_LOCAL_TIMESTAMP)
        except ClusterRejected:  # brokers without tiered storage, before Kafka 3.5
            return False
        return self.partition.position < local

    def _first(self, found: Fetched) -> Batch | None:
        """Return the first batch that does not end before the position, if it can be unpacked.

        Raises CorruptBatch.
        """
        source, position = self.partition.source, self.partition.position
        walked = walk(found.records, source, found.legacy, position)
        batch = next((each for each in walked if each.last >= position), None)
        if batch is not None:
            decode(batch, source)
        return batch

    async def _begins_at(self, offset: int, end: int) -> bool:
        """Say whether copying can continue at ``offset``: at a batch that begins there."""
        if offset == end:
            return True
        batch = await self._readable(offset)
        return batch is not None and batch.base == offset

    async def _next_readable(self, position: int, end: int) -> int | None:
        """Return the first offset behind ``position`` that the broker finds; None: there is none.

        Steps of growing size find one, then the interval is halved.
        """
        missing, step = position, 1
        while not await self._finds(found := min(missing + step, end - 1)):
            if found <= missing or found == end - 1:
                return None
            missing, step = found, 2 * step
        while found > missing + 1:
            middle = (missing + found) // 2
            if await self._finds(middle):
                found = middle
            else:
                missing = middle
        return found

    async def _finds(self, offset: int) -> bool:
        """Say whether the broker returns a readable batch behind the position for ``offset``."""
        batch = await self._readable(offset)
        return batch is not None and self.partition.position < batch.base <= offset

    async def _readable(self, offset: int) -> Batch | None:
        """Return the batch that the broker returns for ``offset``; None: none, or a damaged one."""
        found = await self._fetch(offset, _MOST_PROBED)
        if found is None or found.error:
            return None
        try:
            batch = self._first(found)
        except CorruptBatch:
            return None
        return batch if batch is not None and batch.last >= offset else None

    async def _end(self, found: Fetched) -> int:
        if found.error:
            return await self.source.offset_at(self.partition.source, LATEST_TIMESTAMP)
        return found.stable if self.committed else found.high_watermark

    async def _fetch(self, offset: int, most: int) -> Fetched | None:
        options = FetchOptions(0, 0, _MOST_READ, most, IsolationLevel(self.committed))
        return await self._reading.fetch(offset, options)
