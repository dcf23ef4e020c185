"""Reads and appends a single-partition state topic over the unit's own connections."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replication.client.error_codes import ErrorCode, named_error
from replication.client.fetch_session import FetchOptions
from replication.client.network import Fenced, NotGranted, PartitionReader
from replication.client.read_committed import DecidedRecords, ReadCommittedBuffer
from replication.clock import now_ms
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_PRODUCER,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    UNKNOWN_OFFSET,
    OffsetRange,
    ProducerIdAndEpoch,
    TopicPartition,
)
from replication.records.batch import TRANSACTIONAL, Batch, next_sequence, restamp, walk
from replication.records.codec import decode, encode, key_and_value, plain_record
from replication.records.control_batches import is_commit
from replication.state import Stored, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from replication.client.fetch_values import Fetched
    from replication.client.network import Ack, Network
    from replication.client.producer_identity import ProducerIdentity

_NO_PROGRESS_S = 15.0
_MAX_BATCH_BYTES = 256 << 10  # bytes of a batch; a topic takes 1 MB unless its limit was lowered
_APPENDED = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
_NOT_ALLOWED = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_FENCED = {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
}
_MARKER_PAUSE_S = 0.005
_RETRIABLE = {  # a leader moved, or metadata has not reached the broker
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


KeyValue = tuple[bytes, bytes]


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
    producer: ProducerIdAndEpoch = (
        NO_PRODUCER  # as which it appends; plain appends cannot be fenced
    )
    markers: dict[int, int] = field(default_factory=dict)  # producer id -> epoch of its last marker
    _undecided: ReadCommittedBuffer = field(default_factory=ReadCommittedBuffer)
    _sequences: dict[ProducerIdAndEpoch, int] = field(default_factory=dict)  # next one by producer
    # The batch that may have been appended or not, by producer: it takes the next sequence.
    _unknown: dict[ProducerIdAndEpoch, bytearray] = field(default_factory=dict)
    _reading: PartitionReader = field(init=False)
    _kept: list[Stored] = field(default_factory=list)
    _append_lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # one append at a time

    def __post_init__(self) -> None:
        self._reading = PartitionReader(self.network, self.partition, self.topic)

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.topic, 0)

    async def own(self, producer: ProducerIdAndEpoch) -> None:
        """Append as ``producer`` from now on: idempotent, and rejected once it is fenced."""
        async with self._append_lock:
            self.producer = producer
            self._sequences.pop(producer, None)
            self._unknown.clear()

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

    async def append(
        self, records: Sequence[Stored], within: ProducerIdentity | None = None
    ) -> list[OffsetRange]:
        """Append ``records`` and wait for the ack. A retry sends the same bytes.

        Returns their offsets, as far as the broker reports them.

        ``within`` the open transaction of a producer, to which this topic was added.

        Raises Fenced when the producer was fenced, ClusterRejected when the broker rejects them.
        Cancelling does not stop it: the next append has to know how this one ended.
        """
        if not records:
            return []
        return await asyncio.shield(asyncio.create_task(self._append_in_turn(records, within)))

    async def append_batch(self, batch: bytearray) -> None:
        """Append a batch of any records, like ``append``."""
        async with self._append_lock:
            await asyncio.shield(asyncio.create_task(self._append(batch, None)))

    async def _append_in_turn(
        self, records: Sequence[Stored], within: ProducerIdentity | None
    ) -> list[OffsetRange]:
        now = now_ms()
        ranges: list[OffsetRange] = []
        async with self._append_lock:
            for some in _slices(records):
                listed = [plain_record(now, key, value) for key, value in some]
                ranges += await self._append(encode(listed), within)
        return ranges

    async def _append(self, batch: bytearray, within: ProducerIdentity | None) -> list[OffsetRange]:
        """Append a batch; before it the one again whose outcome is not known.

        With the same sequence another batch would be taken for a repetition of that one and left
        out, or be rejected (OUT_OF_ORDER_SEQUENCE_NUMBER).
        """
        producer = self.producer if within is None else within.producer
        transactional_id = "" if within is None else within.transactional_id
        if (former := self._unknown.get(producer)) is not None:
            await self._send(former, producer, transactional_id)
        sequence = NO_SEQUENCE if producer == NO_PRODUCER else self._sequences.get(producer, 0)
        restamp(batch, *producer, sequence, TRANSACTIONAL if within else 0)
        if producer != NO_PRODUCER:
            self._unknown[producer] = batch
        return await self._send(batch, producer, transactional_id)

    async def _send(
        self, batch: bytearray, producer: ProducerIdAndEpoch, transactional_id: str
    ) -> list[OffsetRange]:
        """Send a batch until its outcome is known, or it takes too long: ClusterUnavailable."""
        sent = next(walk(memoryview(batch), self.topic))
        deadline = time.monotonic() + _NO_PROGRESS_S
        while True:
            ack, error = await self._produce(memoryview(batch), transactional_id)
            if ack is not None and ack.error in _APPENDED:
                self._unknown.pop(producer, None)
                self._sequences[producer] = next_sequence(sent.sequence, sent.count)
                # For an old duplicate the broker does not report the offset.
                return [OffsetRange(ack.base, ack.base + sent.count)] if ack.base >= 0 else []
            if (
                ack is not None
                and ack.error == ErrorCode.INVALID_TXN_STATE
                and not transactional_id
            ):
                await asyncio.sleep(
                    _MARKER_PAUSE_S
                )  # our last transaction's marker is not written yet
                if time.monotonic() < deadline:
                    continue
            if ack is not None and ack.error in _FENCED:
                self._unknown.pop(producer, None)
                raise Fenced(
                    f"writing {self.topic}: another driver or a failover fenced our producer"
                )
            if ack is not None and ack.error not in _RETRIABLE:
                self._unknown.pop(producer, None)
                kind = NotGranted if ack.error in _NOT_ALLOWED else ClusterRejected
                raise kind(f"writing {self.topic}: {named_error(ack.error)} {ack.message}")
            if time.monotonic() > deadline:
                raise ClusterUnavailable(f"writing {self.topic}: {error or ack}")
            await asyncio.sleep(0.1)
            await self.network.refresh([self.topic])

    async def _produce(
        self, batch: memoryview, transactional_id: str
    ) -> tuple[Ack | None, Exception | None]:
        answered: asyncio.Future[tuple[Ack | None, Exception | None]]
        answered = asyncio.get_running_loop().create_future()

        def on_response(acks: list[Ack] | None, error: Exception | None) -> None:
            if not answered.done():
                answered.set_result((acks[0] if acks else None, error))

        leader = self.network.leader(self.partition)
        if leader is None:
            return None, ClusterUnavailable(f"{self.topic} has no leader")
        try:
            await self.network.ready(leader.node)
        except ClusterUnavailable as problem:
            return None, problem
        if (pause_s := self.network.pause_s(leader.node)) > 0:
            await asyncio.sleep(pause_s)
        self.network.produce(leader.node, [(self.topic, 0, batch)], on_response, transactional_id)
        return await answered

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
        if error in _NOT_ALLOWED:
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


def _slices(records: Sequence[Stored]) -> Iterator[list[KeyValue]]:
    """Yield keys and values in parts that each fit into one batch."""
    part: list[KeyValue] = []
    size = 0
    for each in records:
        key, value = each.key(), each.value()
        length = len(key) + len(value)
        if part and size + length > _MAX_BATCH_BYTES:
            yield part
            part, size = [], 0
        part.append((key, value))
        size += length
    if part:
        yield part
