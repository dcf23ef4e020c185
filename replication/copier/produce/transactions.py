"""Commit records and their anchors in one target transaction, for compacted topics.

Compaction may remove records that a takeover would have to count, so here the position after a
crash is the committed anchor. One transaction at a time: partitions with batches join it and send
for a while; when all batches are acknowledged their anchors are appended and it is committed. When
a failure remains after retries it is aborted, and its partitions resume at the committed position.

After a commit its markers are read before the next transaction begins: another client may have
aborted ours in a single partition. Records of such a partition are copied again.

Each replication path has its own producer, so its own transactions: a partition whose next records
have another path joins another transaction.

Consumers with read_committed never wait long: a transaction is open for some 50 ms. If a unit
dies, the next owner aborts its transaction, or else the broker after 10 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import named_error
from replication.clock import now_ms
from replication.copier.partition.broker_errors import PartitionError, Recovery, join_error
from replication.copier.produce.transaction_outcome import (
    TransactionInDoubt,
    TransactionOutcome,
    gap_between,
)
from replication.copier.takeover.point_log import store_points
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken
from replication.provenance.origins import LOCAL_ORIGIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.client.producer_identity import ProducerIdentity
    from replication.client.state_topic.state_log import StateLog
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.transactional_copy import JoinRequests, TransactionalCopy
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender
    from replication.copier.takeover.takeover import Takeover
    from replication.model import ProducerIdAndEpoch
    from replication.provenance.origins import ReplicationPath
    from replication.state import Anchor

_OPEN_S = 0.05  # how long partitions send before a commit
_RETRY_S = 4.0  # how long batches are retried before an abort
_POLL_S = 0.1
_RENEW_PAUSE_S = 0.5
_END_S = 5.0
_ABORTED = "our transaction was aborted by another client: its records are copied again"


class _Aborted(ClusterRejected):
    """Retries cannot complete the transaction."""


@dataclass(slots=True)
class Transactions:
    """Opens, fills and commits the transactions of one unit."""

    takeover: Takeover
    producers: Producers
    sender: Sender
    joins: JoinRequests
    points: StateLog  # of offset points
    on_written: Callable[[Mapping[PartitionCopy, Anchor]], None]  # anchors that were committed
    _members: dict[TransactionalCopy, None] = field(default_factory=dict)
    _unconfirmed: TransactionInDoubt | None = None
    _outcome: TransactionOutcome = field(init=False)
    _producer: ProducerIdentity | None = None  # of the open transaction
    _path: ReplicationPath = LOCAL_ORIGIN  # replication path of its records
    _closing: bool = False
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._outcome = TransactionOutcome(self.takeover.target)

    async def run(self) -> None:
        """Copy in transactions until ``end``. Raises FlowTaken when another driver is at work."""
        try:
            while not self._closing:
                await self.joins.added.wait()
                self.joins.added.clear()
                while (self.joins.asking or self._unconfirmed) and not self._closing:
                    async with self.takeover.turn:
                        await self._transact()
        finally:
            self._idle.set()
        await asyncio.Event().wait()  # the unit cancels its tasks together

    async def end(self) -> None:
        """Commit the open transaction and begin no other."""
        self._closing = True
        self.joins.added.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self._idle.wait()

    async def _transact(self) -> None:
        try:
            await self._confirm()  # of the last transaction, if the target did not answer then
            await self._collect()
            if self._members:
                await self._drain()
                await self._commit()
        except FlowTaken:
            raise
        except (ClusterRejected, ClusterUnavailable) as problem:
            await self._abort(str(problem))
        for partition in list(self.producers.partitions):
            self.sender.offer(partition)

    async def _collect(self) -> None:
        """Let partitions join and send, until it is time to commit."""
        until = time.monotonic() + _OPEN_S
        await self._join()
        while self._members and not self._closing and (left := until - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.joins.added.wait(), left)
            self.joins.added.clear()
            await self._join()
            if any(e.failed for e in self._members) or all(
                e.needs_other_producer for e in self._members
            ):
                return

    async def _join(self) -> None:
        partition_copies = self._next_members()
        if not partition_copies:
            return
        identity = self._producer = await self.producers.producer(self._path, partition_copies)
        anchors = self.takeover.anchors.partition
        partitions = [anchors, *(each.target for each in partition_copies)]
        refused = await self.takeover.target.add_to_transaction(
            identity.transactional_id, identity.producer, partitions
        )
        self.sender.send_in(identity.transactional_id)
        if anchors in refused and not any(each.target in refused for each in partition_copies):
            raise _Aborted(f"{anchors.topic}: {named_error(refused[anchors])}")
        for partition in partition_copies:
            if not refused:
                partition.join(self._path, identity.producer)
                self._members[partition] = None
            elif (error := join_error(refused.get(partition.target, 0))) is not None:
                partition.record_error(error)
                self.sender.dispatch(partition)
            # Where only another partition was rejected, this one requests to join again.
            self.sender.offer(partition)
        self.sender.pump()

    def _next_members(self) -> list[TransactionalCopy]:
        """Return the partitions to join, of the transaction's path; others join a later one."""
        asking = [each for each in self.joins.asking if each.fetches and each.queue.waiting]
        if asking and not self._members:
            self._path = asking[0].queue.next_path
        partitions = [each for each in asking if each.queue.next_path == self._path]
        self.joins.asking = {each: None for each in asking if each.queue.next_path != self._path}
        return partitions

    async def _drain(self) -> None:
        """Send nothing new; wait until every sent batch is acknowledged."""
        for partition in self._members:
            partition.sending = False
        deadline = time.monotonic() + _RETRY_S
        while True:
            self.sender.answered.clear()
            failed = [each for each in self._members if each.failed or each.committed is None]
            if failed:
                error = failed[0].error
                raise _Aborted(error.reason if error else failed[0].status.reason)
            if all(each.drained for each in self._members):
                return
            if time.monotonic() > deadline:
                raise _Aborted(
                    "the target did not acknowledge every batch of a transaction in time"
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.sender.answered.wait(), _POLL_S)

    async def _commit(self) -> None:
        identity, now = self._producer, now_ms()
        if identity is None:
            return
        if not self.sender.lease.holds():
            raise _Aborted("it is no longer known whether another unit took over")
        await self._require_no_abort(identity.producer)
        anchors: dict[PartitionCopy, Anchor] = {
            each: each.anchor_to_commit(now) for each in self._members if each.moved
        }
        log = self.takeover.anchors
        await store_points(self.points, anchors)
        spans = {each.target: each.spans for each in self._members}
        spans[log.partition] = await log.append(list(anchors.values()), identity)
        await self.takeover.target.end_transaction(
            identity.transactional_id, identity.producer, commit=True
        )
        before = {each: was for each in self._members if (was := each.committed) is not None}
        self._unconfirmed = TransactionInDoubt(identity.producer, before, spans, anchors)
        for partition in self._members:
            partition.commit()
        self._members.clear()
        await self._confirm()

    async def _require_no_abort(self, producer: ProducerIdAndEpoch) -> None:
        """Raise _Aborted if an ABORT marker of ours stands between our appends."""
        gaps = {each.target: gap for each in self._members if (gap := gap_between(each.spans))}
        if gaps and (found := await self._outcome.aborted(producer, gaps)):
            raise _Aborted(f"{min(found)}: {_ABORTED}")

    async def _confirm(self) -> None:
        """Verify the last transaction in each partition; undo it where it was aborted.

        The anchors report that at once. Aborted anchors are written again.
        """
        if (decided := self._unconfirmed) is None:
            return
        log, now = self.takeover.anchors, now_ms()
        aborted = await self._outcome.aborted(decided.producer, decided.ranges)
        again = dict(decided.anchors) if log.partition in aborted else {}
        for partition, before in decided.before.items():
            if partition.target not in aborted:
                partition.confirm()
            else:
                partition.undo(before)
                partition.status.reason = _ABORTED
                again[partition] = partition.offset_points.note(partition.anchor(now))
        await store_points(self.points, again)
        await log.append(list(again.values()))
        self._unconfirmed = None
        self.on_written({**decided.anchors, **again})

    async def _abort(self, reason: str) -> None:
        """Abort by a new epoch of the producer, before anything else is sent.

        The partitions are taken over, for the commit's outcome may be unknown.
        """
        members = [each for each in self._members if each.committed is not None]
        self._members.clear()
        for partition in members:
            partition.sending = False
            partition.record_error(PartitionError(Recovery.TAKE_OVER, reason))
        while True:
            try:
                await self.producers.renew()
                await self.producers.producer(self._path, ())
                break
            except (ClusterRejected, ClusterUnavailable):
                await asyncio.sleep(_RENEW_PAUSE_S)
        for partition in members:
            self.sender.dispatch(partition)
