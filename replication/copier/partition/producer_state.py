"""As whom a lane appends: one of our producers at a time, the others of its partition rest. No I/O.

A producer for each way that records came by, so that the next flow can tell (P3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.model import NO_PRODUCER, NO_SEQUENCE, ProducerIdAndEpoch
from replication.provenance.origins import LOCAL_ORIGIN
from replication.records.batch import next_sequence, restamp

if TYPE_CHECKING:
    from replication.copier.partition.producer_batch import ProducerBatch
    from replication.provenance.origins import ReplicationPath


class _IdleProducer(NamedTuple):
    """Where a producer that rests stands in the target partition."""

    producer: ProducerIdAndEpoch
    sequence: int


@dataclass(slots=True, eq=False)
class ProducerState:
    """Numbers what a lane appends (A)."""

    producer: ProducerIdAndEpoch = NO_PRODUCER
    sequence: int = 0  # of the next record
    proven: bool = False  # the target has acked an append of this producer epoch
    path: ReplicationPath = LOCAL_ORIGIN  # of what ``producer`` appends
    _idle: dict[ReplicationPath, _IdleProducer] = field(default_factory=dict)

    def begin(self, producer: ProducerIdAndEpoch) -> None:
        """Append as ``producer`` what was born at the source, and as nobody else."""
        self.path = LOCAL_ORIGIN
        self._idle.clear()
        self.renew(producer)

    def renew(self, producer: ProducerIdAndEpoch) -> None:
        """Go on as ``producer``: sequences begin anew with every epoch."""
        self.producer, self.sequence, self.proven = producer, 0, False

    def producer_for(self, path: ReplicationPath) -> ProducerIdAndEpoch | None:
        """Return the producer that appends what came by ``path``; None: there is none yet."""
        if path == self.path:
            return self.producer
        stamp = self._idle.get(path)
        return None if stamp is None else stamp.producer

    def admit(self, path: ReplicationPath, producer: ProducerIdAndEpoch) -> None:
        """Let ``producer`` append what came by ``path``: the anchor that names it is acked."""
        if path != self.path:
            self._idle[path] = _IdleProducer(producer, 0)

    def stamp(self, producer_batch: ProducerBatch, bits: int) -> None:
        """Make ``producer_batch`` the next append of the one who may append it; unnumbered without an id."""
        producer_batch.sequence = NO_SEQUENCE if self.producer == NO_PRODUCER else self.sequence
        restamp(producer_batch.batch, *self.producer, producer_batch.sequence, bits)
        self.sequence = next_sequence(self.sequence, producer_batch.count)
        producer_batch.stamped = True

    def switch(self, path: ReplicationPath) -> None:
        """Append as the producer for ``path`` from now on; nothing is on the wire."""
        self._idle[self.path] = _IdleProducer(self.producer, self.sequence)
        self.path = path
        self.producer, self.sequence = self._idle.pop(path)
        self.proven = False  # it may have rested for so long that the broker has forgotten it
