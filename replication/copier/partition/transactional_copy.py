"""State of a partition whose records and anchor are committed in one transaction. No I/O."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.fetch_state import leader_epoch_at
from replication.copier.partition.partition_copy import PartitionCopy
from replication.model import Mode, OffsetAndEpoch, OffsetRange, ProducerIdAndEpoch, RecordsAndBytes
from replication.records.batch import TRANSACTIONAL

if TYPE_CHECKING:
    from replication.copier.partition.broker_errors import PartitionError
    from replication.copier.partition.latency import CopyLatency
    from replication.copier.partition.position import Position
    from replication.copier.partition.producer_batch import ProducerBatch
    from replication.model import PartitionState
    from replication.provenance.origins import ReplicationPath
    from replication.state import Anchor


class CommittedPosition(NamedTuple):
    """Position and counters as committed when a transaction began."""

    acked: Position | None
    exact: bool
    counted: RecordsAndBytes
    stuck: tuple[PartitionState, str] | None
    records: int
    bytes: int
    done: OffsetAndEpoch
    delays: CopyLatency


@dataclass(eq=False)
class TransactionalCopy(PartitionCopy):
    """Sends only while it takes part in the open transaction.

    A transaction has one producer, so it holds records of one replication path. Until the commit
    ``acked`` is tentative: an anchor outside the transaction has the committed position, to which
    the partition returns when the transaction is aborted.
    """

    mode: ClassVar[str] = Mode.TRANSACTIONAL
    bits: ClassVar[int] = TRANSACTIONAL
    sending: bool = False  # new batches; sent batches may be resent until the end
    committed: CommittedPosition | None = None  # not None while it takes part
    spans: list[OffsetRange] = field(default_factory=list)  # target offsets in the transaction
    failed: bool = False  # the transaction it takes part in must be aborted
    unconfirmed: bool = False  # the markers of its last transaction were not read yet

    @property
    def sends(self) -> bool:
        waiting = self.queue.waiting
        again = self.committed is not None and bool(waiting) and waiting[0].stamped
        return (self.sending or again) and not self.needs_other_producer and super().sends

    @property
    def needs_other_producer(self) -> bool:
        """Whether its next batch belongs to another producer, so to another transaction."""
        return bool(self.queue.waiting) and self.queue.next_path != self.queue.writer.path

    @property
    def in_doubt(self) -> bool:
        return self.committed is not None or self.unconfirmed

    def must_count(self, now_ms: int) -> bool:
        return False  # a broker keeps the state of a producer with an open transaction

    @property
    def drained(self) -> bool:
        """Whether it is known of every sent batch if it is in the transaction.

        A rejected batch is not: what was acknowledged before it is committed, then the error policy
        is applied.
        """
        return not self.queue.responses_due and self.queue.all_known

    def join(self, path: ReplicationPath, producer: ProducerIdAndEpoch) -> None:
        """Join the open transaction of ``producer``, which appends records of ``path``."""
        if path != self.queue.writer.path:
            self.queue.writer.switch(path)
        if self.queue.writer.producer != producer:
            self.queue.writer.renew(producer)
        self.committed = CommittedPosition(
            self.acked,
            self.exact,
            self.counted.size,
            self.status.stuck,
            self.counters.records,
            self.counters.bytes,
            self.done,
            self.counters.delays.as_now(),
        )
        self.sending, self.failed, self.spans = True, False, []

    def appended(self, producer_batch: ProducerBatch, base: int) -> None:
        self.spans.append(OffsetRange(base, base + producer_batch.count))
        super().appended(producer_batch, base)

    @property
    def moved(self) -> bool:
        return self.committed is not None and self.acked != self.committed.acked

    def commit(self) -> None:
        """Record that the coordinator decided the commit; its markers are not read yet."""
        self.committed, self.sending, self.unconfirmed = None, False, True

    def confirm(self) -> None:
        """Record that the partition has the COMMIT marker."""
        self.unconfirmed = False
        self.anchor_changes.add(self)

    def record_error(self, error: PartitionError) -> None:
        super().record_error(error)
        if self.committed is not None and error.recovery is Recovery.TAKE_OVER:
            self.failed = True

    def forget(self) -> None:
        """Drop all batches and return to the committed position: the transaction is aborted."""
        super().forget()
        if self.committed is None:
            return
        self.queue.has_unknown_appends = True  # a takeover has to see that it is aborted
        was, counters = self.committed, self.counters
        self.acked, self.exact, self.done = was.acked, was.exact, was.done
        self.counted.size, self.status.stuck = was.counted, was.stuck
        counters.records, counters.bytes, counters.delays = was.records, was.bytes, was.delays
        self.committed, self.sending, self.failed = None, False, False
        if self.acked is not None:
            self.position = self.acked.source
            self.counted.skip_again()

    def undo(self, before: CommittedPosition) -> None:
        """Return to ``before``: another client aborted the transaction that we committed."""
        self.committed = before
        self.forget()
        self.queue.has_unknown_appends = self.unconfirmed = False
        self.anchor_changes.add(self)

    def anchor(self, now_ms: int, *, clean: bool = False) -> Anchor:
        """Return the anchor with the committed position."""
        if self.committed is None or self.committed.acked is None:
            return super().anchor(now_ms, clean=clean)
        was, base = self.committed, self.claimed
        return replace(
            self.anchor_to_commit(now_ms),
            source=self.committed.acked.source,
            target=self.committed.acked.target,
            appenders=base.appenders[-self.own :] if was.exact else base.appenders,
            mode=self.mode if was.exact else base.mode,
            records=was.records,
            bytes=was.bytes,
            source_epoch=leader_epoch_at(was.done, self.committed.acked.source),
            timed=was.delays.records,
            age_ms=was.delays.age.for_anchor(now_ms),
            latency_ms=was.delays.latency.for_anchor(now_ms),
        )

    def anchor_to_commit(self, now_ms: int) -> Anchor:
        """Return the anchor to write in the transaction."""
        return super().anchor(now_ms)


@dataclass(slots=True)
class JoinRequests:
    """Partitions that want to join a transaction, in the order of their requests."""

    asking: dict[TransactionalCopy, None] = field(default_factory=dict)
    added: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self, partition: PartitionCopy) -> None:
        """Add a join request of ``partition``: it may send its next batch in a transaction only."""
        if not isinstance(partition, TransactionalCopy) or not partition.fetches:
            return
        if partition.committed is None:
            self.asking[partition] = None
        if partition.committed is None or partition.needs_other_producer:
            self.added.set()
