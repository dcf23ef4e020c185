"""Writes what a task made of its ranges: records, dead letters and anchors in one transaction.

The producer's epoch fences every former task of the slot, so a transaction commits at most once;
its anchors are the only positions. A task that fails commits nothing (decision 0015).
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode, named_error
from replication.clock import now_ms
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.records.batch import TRANSACTIONAL, next_sequence, restamp
from replication.records.codec import plain_record
from replication.state import anchors_topic
from spark_jobs.transform.columns.encoded_batches import TargetRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.client.network import Ack, Network
    from replication.state import Stored
    from spark_jobs.transform.columns.encoded_batches import Encoded
    from spark_jobs.transform.task.work import SlotWork

_PATIENCE_S = 5.0  # the broker ends an open transaction after 10 s
_RETRIABLE = {
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


@dataclass(slots=True)
class TargetWriter:
    """One transaction of a task."""

    network: Network
    work: SlotWork
    ends: dict[TopicPartition, int] = field(default_factory=dict)  # behind our last append
    _sequences: dict[TopicPartition, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sequences = dict(self.work.sequences)

    @property
    def sequences(self) -> dict[TopicPartition, int]:
        """The producer's next sequences."""
        return self._sequences

    async def begin(self, destinations: Iterable[TopicPartition]) -> None:
        """Begin the transaction with these partitions, and that of the anchors.

        Raises ClusterRejected naming a partition that may not be written, ClusterUnavailable.
        """
        partitions = [*destinations, self._anchors]
        await self.network.refresh({each.topic for each in partitions})
        me = self.work.producer
        refused = await self.network.add_to_transaction(
            me.transactional_id, me.producer, partitions
        )
        for where, error in sorted(refused.items()):
            if error != ErrorCode.OPERATION_NOT_ATTEMPTED:
                raise ClusterRejected(f"writing {where}: {named_error(error)}")

    async def append(self, records: Mapping[TopicPartition, TargetRecords]) -> None:
        """Append records to their partitions, in order, and wait for every ack."""
        queues = {where: each.batches(self._codec(where)) for where, each in records.items()}
        while queues:
            heads = {where: next(each, None) for where, each in queues.items()}
            found = {where: each for where, each in heads.items() if each is not None}
            await self._append_all(found)
            queues = {where: queues[where] for where in found}

    async def commit(self, stored: Sequence[Stored]) -> None:
        """Append the anchors, and what else belongs to them, and commit."""
        now, me = now_ms(), self.work.producer
        listed = [plain_record(now, each.key(), each.value()) for each in stored]
        await self.append({self._anchors: TargetRecords.of(listed)})
        await self.network.end_transaction(me.transactional_id, me.producer, commit=True)

    @property
    def _anchors(self) -> TopicPartition:
        return TopicPartition(anchors_topic(self.work.clusters.source_alias), 0)

    async def _append_all(self, batches: dict[TopicPartition, Encoded]) -> None:
        """Append one batch to each partition; again where that has to be tried again."""
        left = {where: self._stamped(where, each.batch) for where, each in batches.items()}
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            acks = await self._send(left)
            for where, ack in acks.items():
                if ack.error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    self._acked(where, batches[where].records, ack)
                    del left[where]
                elif ack.error not in _RETRIABLE:
                    raise ClusterRejected(
                        f"writing {where}: {named_error(ack.error)} {ack.message}"
                    )
            if not left:
                return
            if time.monotonic() > deadline:
                raise ClusterUnavailable(f"writing {min(left)}: no ack in time")
            await asyncio.sleep(0.1)
            await self.network.refresh({each.topic for each in left})

    def _codec(self, where: TopicPartition) -> int:
        return 0 if where == self._anchors else self.work.codec

    def _stamped(self, where: TopicPartition, batch: bytearray) -> bytearray:
        sequence = self._sequences.get(where, 0)
        restamp(batch, *self.work.producer.producer, sequence, TRANSACTIONAL)
        return batch

    def _acked(self, where: TopicPartition, count: int, ack: Ack) -> None:
        self._sequences[where] = next_sequence(self._sequences.get(where, 0), count)
        if ack.base >= 0:
            self.ends[where] = ack.base + count

    async def _send(self, batches: dict[TopicPartition, bytearray]) -> dict[TopicPartition, Ack]:
        """Send one request to each leader; return the acks that came."""
        by_node: dict[int, list[TopicPartition]] = defaultdict(list)
        for where in sorted(batches):
            if (leader := self.network.leader(where)) is not None:
                by_node[leader.node].append(where)
        answers = await asyncio.gather(
            *(self._request(node, listed, batches) for node, listed in by_node.items())
        )
        return {TopicPartition(ack.topic, ack.partition): ack for acks in answers for ack in acks}

    async def _request(
        self, node: int, listed: list[TopicPartition], batches: dict[TopicPartition, bytearray]
    ) -> list[Ack]:
        try:
            await self.network.ready(node)
        except ClusterUnavailable:
            return []
        answered: asyncio.Future[list[Ack]] = asyncio.get_running_loop().create_future()

        def on_response(acks: list[Ack] | None, _: Exception | None) -> None:
            if not answered.done():
                answered.set_result(acks or [])

        given = [(*where, memoryview(batches[where])) for where in listed]
        self.network.produce(node, given, on_response, self.work.producer.transactional_id)
        return await answered
