"""Records and their anchors in one transaction of the target, for lanes that cannot be counted.

Where compaction may have removed what would have to be counted, the position after a crash is the
committed anchor. One transaction at a time: lanes that have something join it, send for a while,
and when all of it is acked their anchors are appended and it is committed. When anything fails
that the same bytes cannot mend, it is aborted, and its lanes begin again at what is committed.

After a commit its markers are read before the next transaction begins: somebody may have aborted
ours in one partition alone. Records of such a partition are copied again.

Copies that are passed on have a producer for each way that they came by, so transactions of their
own: a lane whose next records came by another way takes part in another one.

Readers that read committed never wait long: a transaction is open for some 50 ms. Of a unit that
died it is aborted by the next owner, or else by the broker after 10 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.partition.broker_errors import PartitionError, Recovery, join_error
from replication.copier.produce.transaction_outcome import Outcome, TransactionOutcome, between
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken
from replication.provenance.origins import LOCAL_ORIGIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.transactional_copy import JoinRequests, TransactionalCopy
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender
    from replication.copier.takeover.takeover import Takeover
    from replication.model import ProducerIdAndEpoch
    from replication.provenance.origins import ReplicationPath
    from replication.state import Anchor

_OPEN_S = 0.05  # how long lanes send before a commit
_RETRY_S = 4.0  # how long the same bytes are sent again before it is aborted
_LOOK_S = 0.1
_RENEW_PAUSE_S = 0.5
_END_S = 5.0
_ABORTED = "our transaction was aborted by another client: its records are copied again"


class _Aborted(ClusterRejected):
    """Something in the transaction failed for good."""


@dataclass(slots=True)
class Transactions:
    """Opens, fills and commits the transactions of one unit."""

    takeover: Takeover
    producers: Producers
    sender: Sender
    joins: JoinRequests
    on_written: Callable[[Mapping[PartitionCopy, Anchor]], None]  # anchors that were committed
    _members: dict[TransactionalCopy, None] = field(default_factory=dict)
    _unconfirmed: Outcome | None = None
    _outcome: TransactionOutcome = field(init=False)
    _producer: ProducerIdentity | None = None  # whose transaction it is
    _path: ReplicationPath = LOCAL_ORIGIN  # the way that its records came by
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
        await asyncio.Event().wait()  # the unit ends its tasks together

    async def end(self) -> None:
        """Commit what is open and open nothing more."""
        self._closing = True
        self.joins.added.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self._idle.wait()

    async def _transact(self) -> None:
        try:
            await self._confirm()  # where it was out of reach before
            await self._gather()
            if self._members:
                await self._drain()
                await self._commit()
        except FlowTaken:
            raise
        except (ClusterRejected, ClusterUnavailable) as problem:
            await self._abort(str(problem))
        for partition in list(self.producers.partitions):
            self.sender.offer(partition)

    async def _gather(self) -> None:
        """Let whoever asks join and send, until it is time to commit."""
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
        who = self._producer = await self.producers.producer(self._path, partition_copies)
        anchors = self.takeover.anchors.partition
        partitions = [anchors, *(each.target for each in partition_copies)]
        refused = await self.takeover.target.add_to_transaction(
            who.transactional_id, who.producer, partitions
        )
        self.sender.transactional_id = who.transactional_id
        if anchors in refused and not any(each.target in refused for each in partition_copies):
            raise _Aborted(f"{anchors.topic}: error {refused[anchors]}")
        for partition in partition_copies:
            if not refused:
                partition.join(self._path, who.producer)
                self._members[partition] = None
            elif (error := join_error(refused.get(partition.target, 0))) is not None:
                partition.record_error(error)
                self.sender.dispatch(partition)
            self.sender.offer(partition)  # one that was left out for another's sake asks again
        self.sender.pump()

    def _next_members(self) -> list[TransactionalCopy]:
        """Return who asks and has records of the transaction's way; others wait for another one."""
        asking = [each for each in self.joins.asking if each.fetches and each.queue.waiting]
        if asking and not self._members:
            self._path = asking[0].queue.next_path
        partitions = [each for each in asking if each.queue.next_path == self._path]
        self.joins.asking = {each: None for each in asking if each.queue.next_path != self._path}
        return partitions

    async def _drain(self) -> None:
        """Send nothing new; wait until all that was sent is acked."""
        for partition in self._members:
            partition.sending = False
        deadline = time.monotonic() + _RETRY_S
        while True:
            self.sender.answered.clear()
            bad = [each for each in self._members if each.failed or each.committed is None]
            if bad:
                error = bad[0].error
                raise _Aborted(error.reason if error else bad[0].reason)
            if all(each.drained for each in self._members):
                return
            if time.monotonic() > deadline:
                raise _Aborted(
                    "the target did not acknowledge every batch of a transaction in time"
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.sender.answered.wait(), _LOOK_S)

    async def _commit(self) -> None:
        who, now = self._producer, int(time.time() * 1000)
        if who is None:
            return
        await self._require_whole(who.producer)
        anchors: dict[PartitionCopy, Anchor] = {
            each: each.anchor_to_commit(now) for each in self._members if each.moved
        }
        log = self.takeover.anchors
        spans = {each.target: each.spans for each in self._members}
        spans[log.partition] = await log.append(list(anchors.values()), who)
        await self.takeover.target.end_transaction(who.transactional_id, who.producer, commit=True)
        before = {each: was for each in self._members if (was := each.committed) is not None}
        self._unconfirmed = Outcome(who.producer, before, spans, anchors)
        for partition in self._members:
            partition.commit()
        self._members.clear()
        await self._confirm()

    async def _require_whole(self, producer: ProducerIdAndEpoch) -> None:
        """Raise _Aborted when what came between our appends is an abort of what was before it."""
        gaps = {each.target: gap for each in self._members if (gap := between(each.spans))}
        if gaps and (found := await self._outcome.aborted(producer, gaps)):
            raise _Aborted(f"{min(found)}: {_ABORTED}")

    async def _confirm(self) -> None:
        """See how the last transaction ended in each partition; go back where it was aborted.

        The anchors say so at once. Where those were aborted they are written again.
        """
        if (decided := self._unconfirmed) is None:
            return
        log, now = self.takeover.anchors, int(time.time() * 1000)
        aborted = await self._outcome.aborted(decided.producer, decided.connections)
        again = dict(decided.anchors) if log.partition in aborted else {}
        for partition, before in decided.before.items():
            if partition.target not in aborted:
                partition.confirm()
            else:
                partition.undo(before)
                partition.reason = _ABORTED
                again[partition] = partition.offset_points.note(partition.anchor(now))
        await log.append(list(again.values()))
        self._unconfirmed = None
        self.on_written({**decided.anchors, **again})

    async def _abort(self, reason: str) -> None:
        """Abort, by a new epoch of the producer; nothing else may happen before that.

        The lanes are taken over, for it may be unknown whether the commit was decided.
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
