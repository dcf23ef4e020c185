"""Queue one partition's batches in order: waiting to be produced, and in flight. No I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.partition.producer_batch import ProducerBatch, first_part, merge_small
from replication.copier.partition.producer_state import ProducerState

if TYPE_CHECKING:
    from replication.model import TopicPartition
    from replication.provenance.origins import ReplicationPath

MAX_IN_FLIGHT = 5  # batches; a broker keeps the sequences of as many batches of a producer
_PAUSE_MS = 1000  # without an append: no broker can have been restarted within it
# Brokers keep a producer's state for a day by default (producer.id.expiration.ms), and may be set
# to less: to a minute at least, since a request may take 30 s until it has arrived or is lost.
# They reckon it from the timestamps of its records, not from when they were appended.
_REMEMBERED_MS = 10_000


@dataclass(slots=True, eq=False)
class ProduceQueue:
    """The batches of one partition until the target acknowledges them."""

    source: TopicPartition
    bits: int = 0  # batch attribute bits that only the partition's mode sets
    writer: ProducerState = field(default_factory=ProducerState)
    largest: int | None = (
        None  # bytes of the largest batch to send; None: the target rejected none for its size
    )
    waiting: deque[ProducerBatch] = field(default_factory=deque)  # fetched, or to be sent again
    in_flight: deque[ProducerBatch] = field(default_factory=deque)  # sent; oldest first
    responses_due: int = 0  # produce requests without a response
    has_unknown_appends: bool = False  # a dropped batch may have been appended
    _last_ms: int = 0  # when the source sent the batch that was acknowledged last, by our clock

    @property
    def next_path(self) -> ReplicationPath:
        """Replication path of the first waiting batch; there must be one."""
        return self.waiting[0].path

    @property
    def may_send(self) -> bool:
        """Whether the first waiting batch may be sent now; there must be one.

        The first batch of a producer is sent alone, and so is the next one after an error or a
        pause: a broker without state of the producer accepts any sequence, so it could append the
        second of two batches although it rejected the first. A broker forgets a producer whose last
        record has an old timestamp when it is restarted, and otherwise every few minutes.
        For the same reason a batch of another producer waits until all batches before it are
        acknowledged: else order would break, and the records counted after a crash would not be
        a prefix of the source (C).
        """
        if self.waiting[0].path != self.writer.path:
            return not self.in_flight
        return len(self.in_flight) < (MAX_IN_FLIGHT if self.writer.proven else 1)

    @property
    def last(self) -> ProducerBatch | None:
        """The batch that was queued last, sent or not."""
        newest = self.waiting or self.in_flight
        return newest[-1] if newest else None

    @property
    def settled(self) -> bool:
        """Whether the outcome of every append is known, of dropped batches too."""
        return not self.has_unknown_appends and self.all_known

    @property
    def all_known(self) -> bool:
        """Whether the outcome of every batch in this queue is known."""
        producer_batches = (*self.in_flight, *self.waiting)
        return all(each.is_known for each in producer_batches)

    def may_be_repeated(self, now_ms: int) -> bool:
        """Whether the target may append a batch a second time if the waiting ones are sent.

        It has appended one, or may have, and may have forgotten that: brokers recognize a repeated
        batch by the producer's state, which they drop once the timestamp of its last record has
        expired (``ProducerStateManager.isProducerExpired``).
        """
        expired = now_ms - _REMEMBERED_MS
        return any(
            each.base is not None or (each.in_doubt and each.timestamp < expired)
            for each in self.waiting
        )

    def next_batch(self) -> ProducerBatch:
        """Stamp the next batch, move it to ``in_flight`` and return it."""
        if self.largest is None:
            merge_small(self.waiting, self.source)
        producer_batch = self.waiting.popleft()
        if producer_batch.path != self.writer.path:
            self.writer.switch(producer_batch.path)
        if not self.in_flight and producer_batch.fetched_ms - self._last_ms > _PAUSE_MS:
            self.writer.proven = False
        if not producer_batch.stamped:
            if self.largest is not None:
                producer_batch = first_part(producer_batch, self.largest, self.waiting, self.source)
            self.writer.stamp(producer_batch, self.bits)
        producer_batch.rejected = False
        self.in_flight.append(producer_batch)
        self.responses_due += 1
        return producer_batch

    def acked(self, producer_batch: ProducerBatch, base: int) -> list[ProducerBatch]:
        """Record that the target appended ``producer_batch`` at ``base``.

        Removes and returns, in order, the batches before which none is unacknowledged.
        """
        producer_batch.base, self.writer.proven = base, True
        self._last_ms = producer_batch.fetched_ms
        done = []
        while self.in_flight and self.in_flight[0].base is not None:
            done.append(self.in_flight.popleft())
        return done

    def back_off(self) -> ProducerBatch | None:
        """Keep sent batches, to resend the same bytes; release the others.

        Returns the first released batch: the source is fetched again from there. Only when no
        response is outstanding: until then the connection may read the bytes.
        """
        first = None
        while self.waiting and not self.waiting[-1].stamped and not self.waiting[-1].split:
            first = self.waiting.pop()
            first.release_buffer()
        self.waiting.extendleft(reversed(self.in_flight))
        self.in_flight.clear()
        self.writer.proven = False
        for producer_batch in self.waiting:
            producer_batch.keep_own_bytes()
        return first

    def take_back(self) -> None:
        """Move in-flight batches back to ``waiting``. Only if the target appended none of them."""
        if self.in_flight:
            self.writer.sequence = self.in_flight[0].sequence
        self.waiting.extendleft(reversed(self.in_flight))
        self.in_flight.clear()
        for producer_batch in self.waiting:
            producer_batch.stamped = producer_batch.rejected = False

    def clear(self) -> None:
        """Drop all batches. Only when no response is outstanding."""
        self.has_unknown_appends = not self.settled
        for producer_batch in (*self.in_flight, *self.waiting):
            producer_batch.release_buffer()
        self.in_flight.clear()
        self.waiting.clear()
