"""Appends to a single-partition state topic, as an idempotent producer if it has an id."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode, named_error
from replication.client.network import Fenced, NotGranted
from replication.clock import now_ms
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import (
    NO_PRODUCER,
    NO_SEQUENCE,
    OffsetRange,
    ProducerIdAndEpoch,
    TopicPartition,
)
from replication.records.batch import TRANSACTIONAL, next_sequence, restamp, walk
from replication.records.codec import encode, plain_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replication.client.network import Ack, Network
    from replication.client.producer_identity import ProducerIdentity
    from replication.state import Stored

_NO_PROGRESS_S = 15.0
_MAX_BATCH_BYTES = 256 << 10  # bytes of a batch; a topic takes 1 MB unless its limit was lowered
_APPENDED = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
NOT_ALLOWED = {
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
class StateAppender:
    """Appends to partition 0 of a state topic, one batch after the other."""

    network: Network
    topic: str
    # As which it appends; plain appends cannot be fenced.
    producer: ProducerIdAndEpoch = NO_PRODUCER
    _sequences: dict[ProducerIdAndEpoch, int] = field(default_factory=dict)  # next one by producer
    # The batch that may have been appended or not, by producer: it takes the next sequence.
    _unknown: dict[ProducerIdAndEpoch, bytearray] = field(default_factory=dict)
    _append_lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # one append at a time

    async def own(self, producer: ProducerIdAndEpoch) -> None:
        """Append as ``producer`` from now on: idempotent, and rejected once it is fenced."""
        async with self._append_lock:
            self.producer = producer
            self._sequences.pop(producer, None)
            self._unknown.clear()

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
                kind = NotGranted if ack.error in NOT_ALLOWED else ClusterRejected
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

        leader = self.network.leader(TopicPartition(self.topic, 0))
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
