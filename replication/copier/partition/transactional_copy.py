"""A lane whose records and anchors are committed together. No I/O."""

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
    """What was committed when a transaction began."""

    acked: Position | None
    exact: bool
    found: RecordsAndBytes
    stuck: tuple[PartitionState, str] | None
    records: int
    bytes: int
    done: OffsetAndEpoch
    delays: CopyLatency


@dataclass(eq=False)
class TransactionalCopy(PartitionCopy):
    """Sends only while it takes part in the open transaction.

    A transaction has one producer, so it holds records that came by one way. Until it is committed
    ``acked`` is a hope: an anchor on its own tells what is committed, and so does the lane after
    the transaction was aborted.
    """

    mode: ClassVar[str] = Mode.TRANSACTIONAL
    bits: ClassVar[int] = TRANSACTIONAL
    sending: bool = False  # new pieces; what was sent may be sent again until the end
    committed: CommittedPosition | None = None  # while it takes part
    spans: list[OffsetRange] = field(default_factory=list)  # of the target, in the transaction
    failed: bool = False  # the transaction it takes part in must be aborted
    unconfirmed: bool = False  # its last transaction's markers have not been seen

    @property
    def sends(self) -> bool:
        waiting = self.queue.waiting
        again = self.committed is not None and bool(waiting) and waiting[0].stamped
        return (self.sending or again) and not self.needs_other_producer and super().sends

    @property
    def needs_other_producer(self) -> bool:
        """Whether what it sends next is another producer's, so part of another transaction."""
        return bool(self.queue.waiting) and self.queue.next_path != self.queue.writer.path

    @property
    def in_doubt(self) -> bool:
        return self.committed is not None or self.unconfirmed

    @property
    def drained(self) -> bool:
        """Whether it is known of all that was sent whether it is in the transaction.

        A refused batch is not: what was acked before it is committed, then the lane is judged.
        """
        return not self.queue.answers_due and self.queue.all_known

    def join(self, path: ReplicationPath, producer: ProducerIdAndEpoch) -> None:
        """Take part in the open transaction of ``producer``, which appends what came by ``path``."""
        if path != self.queue.writer.path:
            self.queue.writer.switch(path)
        if self.queue.writer.producer != producer:
            self.queue.writer.renew(producer)
        self.committed = CommittedPosition(
            self.acked,
            self.exact,
            self.found,
            self.stuck,
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
        """Note that the commit is decided: its markers are still to be seen."""
        self.committed, self.sending, self.unconfirmed = None, False, True

    def confirm(self) -> None:
        """Note that the commit's marker stands in the partition."""
        self.unconfirmed = False
        self.anchor_changes.add(self)

    def record_error(self, error: PartitionError) -> None:
        super().record_error(error)
        if self.committed is not None and error.recovery is Recovery.TAKE_OVER:
            self.failed = True

    def forget(self) -> None:
        """Drop what is under way, and what was appended in a transaction that will be aborted."""
        super().forget()
        if self.committed is None:
            return
        self.queue.has_unknown_appends = True  # somebody has to see that it is aborted
        was, counters = self.committed, self.counters
        self.acked, self.exact, self.found = was.acked, was.exact, was.found
        self.stuck, self.done = was.stuck, was.done
        counters.records, counters.bytes, counters.delays = was.records, was.bytes, was.delays
        self.committed, self.sending, self.failed = None, False, False
        if self.acked is not None:
            self.position, self.skip = self.acked.source, self.found.records

    def undo(self, before: CommittedPosition) -> None:
        """Go back to ``before`` a transaction that was aborted although we committed it."""
        self.committed = before
        self.forget()
        self.queue.has_unknown_appends = self.unconfirmed = False
        self.anchor_changes.add(self)

    def anchor(self, now_ms: int, *, clean: bool = False) -> Anchor:
        """Return the anchor of what is committed."""
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
        """Return the anchor that belongs into the transaction."""
        return super().anchor(now_ms)


@dataclass(slots=True)
class JoinRequests:
    """Partitions that ask to take part in a transaction, in the order in which they asked."""

    asking: dict[TransactionalCopy, None] = field(default_factory=dict)
    added: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self, partition: PartitionCopy) -> None:
        """Let ``partition`` join: it has something that it may not send yet."""
        if not isinstance(partition, TransactionalCopy) or not partition.fetches:
            return
        if partition.committed is None:
            self.asking[partition] = None
        if partition.committed is None or partition.needs_other_producer:
            self.added.set()
