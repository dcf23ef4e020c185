"""Reads and appends a single-partition state topic over the unit's own connections."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.network import PartitionReader
from replication.client.state_topic.read_committed import DecidedRecords, ReadCommittedBuffer
from replication.client.state_topic.state_appender import NOT_ALLOWED, StateAppender
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_PRODUCER_EPOCH,
    UNKNOWN_OFFSET,
    OffsetRange,
    ProducerIdAndEpoch,
    TopicPartition,
)
from replication.records.batch import Batch, walk
from replication.records.codec import decode, key_and_value
from replication.records.control_batches import is_commit
from replication.state import Stored, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.client.producer_identity import ProducerIdentity

_NO_PROGRESS_S = 15.0


@dataclass(slots=True)
class StateLog:
    """Partition 0 of a state topic: reads on from its last position, and appends.

    It fetches read_uncommitted, so that no open transaction of another producer blocks it, and
    holds such records until it reads the marker of their transaction.
    """

    network: Network
    topic: str
    position: int = UNKNOWN_OFFSET  # next offset to read
    read: Callable[[bytes | None, bytes | None], Any] = parse  # decodes key and value
    markers: dict[int, int] = field(default_factory=dict)  # producer id -> epoch of its last marker
    _undecided: ReadCommittedBuffer = field(default_factory=ReadCommittedBuffer)
    _reading: PartitionReader = field(init=False)
    _kept: list[Stored] = field(default_factory=list)
    appender: StateAppender = field(init=False)

    def __post_init__(self) -> None:
        self._reading = PartitionReader(self.network, self.partition, self.topic)
        self.appender = StateAppender(self.network, self.topic)

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.topic, 0)

    async def start_near_end(self, back: int) -> None:
        """Begin to read ``back`` offsets before the end, or at the log's start."""
        end = await self.network.offset_at(self.partition, LATEST_TIMESTAMP)
        start = await self.network.offset_at(self.partition, EARLIEST_TIMESTAMP)
        self.position = max(start, end - back)

    async def read_on(self) -> list[Stored]:
        """Return the records that came since the last read, up to the end of the log."""
        if self.position == UNKNOWN_OFFSET:
            self.position = await self.network.offset_at(self.partition, EARLIEST_TIMESTAMP)
        deadline = time.monotonic() + _NO_PROGRESS_S
        while True:
            records, end = await self._poll(FetchOptions(max_wait_ms=0, min_bytes=0))
            self._kept += records  # so that nothing is lost when this is cancelled
            if self.position >= end:
                found, self._kept = self._kept, []
                return found
            if time.monotonic() > deadline and not records:
                raise ClusterUnavailable(
                    f"reading {self.topic}: no record at offset {self.position} in "
                    f"{_NO_PROGRESS_S:g} s: check that its partition has a leader"
                )

    async def wait_for_more(self, wait_ms: int) -> list[Stored]:
        """Return the next records, or none after ``wait_ms``."""
        records, _ = await self._poll(FetchOptions(max_wait_ms=wait_ms, max_bytes=1 << 20))
        return records

    async def wait_for_markers(self, epochs: Mapping[int, int]) -> None:
        """Read on until it has read a marker of every producer id, of at least its epoch.

        Records that it reads meanwhile are returned by the next ``read_on``.
        """
        deadline = time.monotonic() + _NO_PROGRESS_S
        seen = self.markers
        while any(seen.get(each, NO_PRODUCER_EPOCH) < epoch for each, epoch in epochs.items()):
            if time.monotonic() > deadline:
                raise ClusterUnavailable(
                    f"no fence marker in {self.topic} after {_NO_PROGRESS_S:g} s: check its leader "
                    "and in-sync replicas"
                )
            self._kept += await self.wait_for_more(50)

    async def own(self, producer: ProducerIdAndEpoch) -> None:
        """Append as ``producer`` from now on: idempotent, and rejected once it is fenced."""
        await self.appender.own(producer)

    async def append(
        self, records: Sequence[Stored], within: ProducerIdentity | None = None
    ) -> list[OffsetRange]:
        """Append ``records`` and wait for the ack; see StateAppender."""
        return await self.appender.append(records, within)

    async def append_batch(self, batch: bytearray) -> None:
        """Append a batch of any records, like ``append``."""
        await self.appender.append_batch(batch)

    async def _poll(self, options: FetchOptions) -> tuple[list[Stored], int]:
        """Fetch once; return the records and the end of the log."""
        try:
            found = await self._reading.fetch(self.position, options)
        except ClusterUnavailable:  # its leader may have moved with the broker's end
            await self.network.refresh([self.topic])
            raise
        error = ErrorCode.NONE if found is None else found.error
        if found and error == ErrorCode.OFFSET_OUT_OF_RANGE:  # go on at the log start
            self.position = max(found.log_start, 0)
            return [], self.position + 1
        if error in NOT_ALLOWED:
            raise ClusterRejected(f"reading {self.topic}: Isthmus' user needs READ on it")
        if found is None or error:
            await asyncio.sleep(0.1)
            await self.network.refresh([self.topic])
            return [], self.position + 1
        return self._records(found), found.high_watermark

    def _records(self, fetched: Fetched) -> list[Stored]:
        records: list[Stored] = []
        for batch in walk(fetched.records, self.topic, fetched.legacy):
            if batch.last < self.position:
                continue
            if batch.is_control:
                records += self._ended(batch)
            elif batch.is_transactional:
                self._undecided.hold(batch.producer_id, self._stored(batch))
            else:
                records += self._undecided.committed(self._stored(batch))
            self.position = batch.last + 1
        return records

    def _ended(self, marker: Batch) -> list[Stored]:
        """Return the records that a marker commits."""
        self.markers[marker.producer_id] = marker.producer_epoch
        commits = is_commit(marker, self.topic)
        return self._undecided.end(marker.producer_id, commits=commits)

    def _stored(self, batch: Batch) -> list[DecidedRecords]:
        return [
            DecidedRecords(record.offset, stored)
            for record in decode(batch, self.topic)
            if record.offset >= self.position
            and (stored := self.read(*key_and_value(record))) is not None
        ]
