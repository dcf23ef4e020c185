"""Send batches to the target's brokers: how much in a request, and when again after an error.

Invariant A: appends are idempotent, and outside of transactions unless the unit is
transactional, by a producer id that was obtained with the unit's transactional id. A retry sends
the same bytes with the same sequence, in order, as long as the target is sure to know the producer;
otherwise a takeover counts what was appended.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.clock import now_ms
from replication.copier.partition.broker_errors import (
    NOT_APPENDED,
    PartitionError,
    Recovery,
    append_error,
    refused_record,
    target_reset,
    unreadable_batch,
)
from replication.copier.partition.refused_batches import is_unreadable, split_refused
from replication.copier.produce.append_lease import AppendLease

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.client.network import Ack, Network
    from replication.copier.foreign_writers import AppendGaps
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.producer_batch import ProducerBatch
    from replication.copier.partition.recovery_queue import RecoveryQueue
    from replication.copier.partition.transactional_copy import JoinRequests

_MAX_IN_FLIGHT = 5  # requests per broker
_MOST_BYTES = 16 << 20  # of one request
_ANCHORS_DUE_BYTES = 32 << 20  # a takeover reads all that was appended after the anchors
_BACK_OFF_S = 0.1
_BACK_OFF_MOST_S = 2.0


@dataclass(slots=True)
class Sender:
    """Sends all batches of a unit. ``lead`` has the leader of each target partition."""

    network: Network
    recoveries: RecoveryQueue
    gaps: AppendGaps
    joins: JoinRequests | None = None  # None: records are appended outside transactions
    lease: AppendLease = field(default_factory=AppendLease)  # (W)
    transactional_id: str = ""  # not empty: everything is part of its transactions
    answered: asyncio.Event = field(default_factory=asyncio.Event)  # set with every response
    acked: int = 0  # bytes acknowledged since the anchors were written
    appended_bytes: int = 0  # acknowledged in all
    anchors_due: asyncio.Event = field(default_factory=asyncio.Event)  # set by many acked bytes
    lead: dict[PartitionCopy, int] = field(default_factory=dict)
    stopped: bool = False  # responses are handled, nothing more is sent
    _ready: dict[int, dict[PartitionCopy, None]] = field(default_factory=lambda: defaultdict(dict))
    _in_flight: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _failures: dict[PartitionCopy, int] = field(default_factory=lambda: defaultdict(int))
    _resting: dict[int, asyncio.TimerHandle] = field(default_factory=dict)  # brokers that throttle

    def offer(self, partition: PartitionCopy) -> None:
        """Mark ``partition`` as ready if it has a batch to send; ``pump`` sends it."""
        node = self.lead.get(partition)
        if node is not None and partition.sends:
            self._ready[node][partition] = None
        elif self.joins is not None and partition.queue.waiting:
            self.joins.ask(partition)

    def offer_all(self, partitions: Iterable[PartitionCopy]) -> None:
        """Send the batches of ``partitions``, as far as they may be sent."""
        for partition in partitions:
            self.offer(partition)
        self.pump()

    def send_in(self, transactional_id: str) -> None:
        """Send what follows as part of this producer's transactions."""
        self.transactional_id = transactional_id

    def pump(self) -> None:
        """Send requests up to the limit of in-flight requests per broker."""
        for node, partitions in list(self._ready.items()):
            while partitions and self._in_flight[node] < _MAX_IN_FLIGHT and not self.stopped:
                if not self.lease.holds():
                    return  # its renewal calls ``pump`` again
                if self._rests(node):
                    break
                self._send(node, partitions)

    def _rests(self, node: int) -> bool:
        """Say whether the broker throttles us; then ``pump`` is called again when that is over."""
        pause_s = self.network.pause_s(node)
        if pause_s <= 0:
            return False
        if node not in self._resting:
            loop = asyncio.get_running_loop()
            self._resting[node] = loop.call_later(pause_s, self._on_rested, node)
        return True

    def _on_rested(self, node: int) -> None:
        del self._resting[node]
        self.pump()

    def _send(self, node: int, ready: dict[PartitionCopy, None]) -> None:
        """Send one request: one batch of each ready partition, grouped by topic."""
        chosen: list[tuple[PartitionCopy, ProducerBatch]] = []
        size = 0
        for partition in list(ready):
            del ready[partition]
            if not partition.sends or self.lead.get(partition) != node:
                continue
            producer_batch = partition.queue.next_batch()
            chosen.append((partition, producer_batch))
            size += len(producer_batch.batch)
            if partition.sends:
                ready[partition] = None  # behind the others, so that each gets its turn
            if size >= _MOST_BYTES:
                break
        if not chosen:
            return
        chosen.sort(key=lambda each: each[0].target)
        batches = [
            (partition.target.topic, partition.target.partition, p.batch) for partition, p in chosen
        ]
        self._in_flight[node] += 1
        self.network.produce(
            node,
            batches,
            lambda acks, error: self._on_response(node, chosen, acks, error),
            self.transactional_id,
        )

    def _on_response(
        self,
        node: int,
        sent: list[tuple[PartitionCopy, ProducerBatch]],
        acks: list[Ack] | None,
        error: Exception | None,
    ) -> None:
        self._in_flight[node] -= 1
        by_partition = {(each.topic, each.partition): each for each in acks or ()}
        for partition, producer_batch in sent:
            partition.queue.responses_due -= 1
            ack = by_partition.get((partition.target.topic, partition.target.partition))
            if ack is None:
                producer_batch.in_doubt = True
                partition.record_error(
                    PartitionError(
                        Recovery.RETRY, str(error or "the target's response lacks the partition")
                    )
                )
            elif not ack.error:
                self._appended(partition, producer_batch, ack.base)
            else:
                self._rejected(partition, producer_batch, ack)
            self.dispatch(partition)
        self.answered.set()
        self.pump()

    def _appended(self, partition: PartitionCopy, producer_batch: ProducerBatch, base: int) -> None:
        if partition.acked is not None and base < partition.acked.target:
            partition.record_error(target_reset(base, partition.acked.target))
            return
        self._failures.pop(partition, None)
        expected = partition.acked.target if partition.acked and partition.exact else base
        if base > expected and partition.queue.in_flight[0] is producer_batch:
            self.gaps.note(partition, expected)
        self.acked += len(producer_batch.batch)
        self.appended_bytes += len(producer_batch.batch)
        partition.counters.delays.note(producer_batch, now_ms())
        if self.acked >= _ANCHORS_DUE_BYTES:
            self.anchors_due.set()
        partition.appended(producer_batch, base)
        partition.recovered()

    def _rejected(self, partition: PartitionCopy, producer_batch: ProducerBatch, ack: Ack) -> None:
        error = append_error(ack.error, ack.message)
        follows_failed = (
            partition.error is not None and partition.queue.in_flight[0] is not producer_batch
        )
        is_rejection = error.recovery in {Recovery.SPLIT, Recovery.DECIDE}
        producer_batch.rejected = is_rejection or (
            follows_failed and ack.error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        )
        if error.recovery is Recovery.RETRY and ack.error not in NOT_APPENDED:
            producer_batch.in_doubt = True
        if follows_failed and producer_batch.rejected:
            return  # the batch before it is handled first; this one is sent again after it
        if ack.error == ErrorCode.MESSAGE_TOO_LARGE:
            partition.queue.largest = len(producer_batch.batch) - 1
        if error.recovery is Recovery.SPLIT and producer_batch.count == 1:
            error = refused_record(error, producer_batch.before, producer_batch.after)
        elif ack.error == ErrorCode.UNKNOWN_SERVER_ERROR and is_unreadable(
            producer_batch, partition.source
        ):
            offsets, after = producer_batch.offsets, producer_batch.after
            error = unreadable_batch(error, offsets, after)
        partition.record_error(error)

    def dispatch(self, partition: PartitionCopy) -> None:
        """Offer a partition without an error; else handle the error once no response is due."""
        if partition.error is None:
            self.offer(partition)
        elif partition.queue.responses_due == 0:
            if partition.error.recovery is Recovery.SPLIT and split_refused(partition):
                self.offer(partition)
                return
            if partition.error.recovery is Recovery.RETRY:
                partition.status.reason = partition.error.reason
                partition.status.retries.note(time.monotonic())
                self._failures[partition] += 1
                pause = min(_BACK_OFF_S * 2 ** (self._failures[partition] - 1), _BACK_OFF_MOST_S)
                partition.back_off(time.monotonic() + pause)
            self.recoveries.add(partition)
