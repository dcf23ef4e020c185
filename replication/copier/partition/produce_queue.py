"""What of one partition waits to be sent and what is on the wire, in order. No I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.partition.producer_batch import ProducerBatch, first_part, merge_small
from replication.copier.partition.producer_state import ProducerState

if TYPE_CHECKING:
    from replication.model import TopicPartition
    from replication.provenance.origins import ReplicationPath

MAX_IN_FLIGHT = 5  # batches; the broker remembers as many sequences of a producer


@dataclass(slots=True, eq=False)
class ProduceQueue:
    """The batches of one partition until they are acked."""

    source: TopicPartition  # where they come from
    bits: int = 0  # attributes of a batch that only the partition's mode sets
    writer: ProducerState = field(default_factory=ProducerState)
    largest: int | None = None  # bytes of a batch that the target may take; None: it refused none
    waiting: deque[ProducerBatch] = field(default_factory=deque)  # fetched, or to be sent again
    in_flight: deque[ProducerBatch] = field(default_factory=deque)  # sent; oldest first
    answers_due: int = 0
    has_unknown_appends: bool = False  # something was dropped that may have landed

    @property
    def next_path(self) -> ReplicationPath:
        """The way that the first batch that waits came by; only where one waits."""
        return self.waiting[0].path

    @property
    def may_send(self) -> bool:
        """Whether the first batch that waits may go out now; only where one waits.

        The first one goes alone: where a broker knows nothing of a producer it takes any sequence,
        so the second of two could land although the first was refused. For the same reason what
        another producer of ours is to append waits until all before it is acked: else order would
        not hold, and what is counted after a crash would not be a beginning of the source (C).
        """
        if self.waiting[0].path != self.writer.path:
            return not self.in_flight
        return len(self.in_flight) < (MAX_IN_FLIGHT if self.writer.proven else 1)

    @property
    def last(self) -> ProducerBatch | None:
        """What was queued last, sent or not."""
        newest = self.waiting or self.in_flight
        return newest[-1] if newest else None

    @property
    def settled(self) -> bool:
        """Whether it is known of every append how it ended."""
        return not self.has_unknown_appends and self.all_known

    @property
    def all_known(self) -> bool:
        """Whether it is known of every batch here whether it is on the target."""
        producer_batches = (*self.in_flight, *self.waiting)
        return all(each.rejected or not each.stamped for each in producer_batches)

    def next_batch(self) -> ProducerBatch:
        """Move the next piece onto the wire, stamped, and return it."""
        if self.largest is None:
            merge_small(self.waiting, self.source)
        producer_batch = self.waiting.popleft()
        if producer_batch.path != self.writer.path:
            self.writer.switch(producer_batch.path)
        if not producer_batch.stamped:
            if self.largest is not None:
                producer_batch = first_part(producer_batch, self.largest, self.waiting, self.source)
            self.writer.stamp(producer_batch, self.bits)
        producer_batch.rejected = False
        self.in_flight.append(producer_batch)
        self.answers_due += 1
        return producer_batch

    def acked(self, producer_batch: ProducerBatch, base: int) -> list[ProducerBatch]:
        """Note that ``producer_batch`` stands at ``base`` of the target.

        Returns the batches up to which all are acked now, in order; they are not held here any
        more.
        """
        producer_batch.base, self.writer.proven = base, True
        done = []
        while self.in_flight and self.in_flight[0].base is not None:
            done.append(self.in_flight.popleft())
        return done

    def back_off(self) -> ProducerBatch | None:
        """Keep what was sent, to send the same bytes again; let go of the rest.

        Returns the first batch that was let go of: it is fetched again. Only when no answer is
        due: until then the connection may still read the bytes.
        """
        first = None
        while self.waiting and not self.waiting[-1].stamped and not self.waiting[-1].split:
            first = self.waiting.pop()
            first.release_buffer()
        self.waiting.extendleft(reversed(self.in_flight))
        self.in_flight.clear()
        for producer_batch in self.waiting:
            producer_batch.keep_own_bytes()
        return first

    def take_back(self) -> None:
        """Move what is on the wire back to what waits. Only when it surely did not land."""
        if self.in_flight:
            self.writer.sequence = self.in_flight[0].sequence
        self.waiting.extendleft(reversed(self.in_flight))
        self.in_flight.clear()
        for producer_batch in self.waiting:
            producer_batch.stamped = producer_batch.rejected = False

    def clear(self) -> None:
        """Drop what waits and what is on the wire. Only when no answer is due."""
        self.has_unknown_appends = not self.settled
        for producer_batch in (*self.in_flight, *self.waiting):
            producer_batch.release_buffer()
        self.in_flight.clear()
        self.waiting.clear()
