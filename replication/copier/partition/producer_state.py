"""Producer ids, epochs and sequences of one target partition, and the stamp of each batch. No I/O.

Each replication path has its own producer, so that the next flow can tell the paths apart (P3).
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
    """Next sequence of an inactive producer in the target partition."""

    producer: ProducerIdAndEpoch
    sequence: int


@dataclass(slots=True, eq=False)
class ProducerState:
    """Assigns producer id, epoch and sequence to a partition's batches (A)."""

    producer: ProducerIdAndEpoch = NO_PRODUCER
    sequence: int = 0  # of the next record
    proven: bool = False  # the target acknowledged an append of this producer epoch
    path: ReplicationPath = LOCAL_ORIGIN  # of the records that ``producer`` appends
    _idle: dict[ReplicationPath, _IdleProducer] = field(default_factory=dict)

    def begin(self, producer: ProducerIdAndEpoch) -> None:
        """Append records that originate at the source as ``producer``; drop all other producers."""
        self.path = LOCAL_ORIGIN
        self._idle.clear()
        self.renew(producer)

    def renew(self, producer: ProducerIdAndEpoch) -> None:
        """Continue as ``producer``: sequences begin at 0 with every epoch."""
        self.producer, self.sequence, self.proven = producer, 0, False

    def producer_for(self, path: ReplicationPath) -> ProducerIdAndEpoch | None:
        """Return the producer that appends records of ``path``; None: there is none yet."""
        if path == self.path:
            return self.producer
        idle = self._idle.get(path)
        return None if idle is None else idle.producer

    def admit(self, path: ReplicationPath, producer: ProducerIdAndEpoch) -> None:
        """Let ``producer`` append records of ``path``: the anchor that names it is acknowledged."""
        if path != self.path:
            self._idle[path] = _IdleProducer(producer, 0)

    def stamp(self, producer_batch: ProducerBatch, bits: int) -> None:
        """Write producer id, epoch and next sequence into the batch; no sequence without an id."""
        producer_batch.sequence = NO_SEQUENCE if self.producer == NO_PRODUCER else self.sequence
        restamp(producer_batch.batch, *self.producer, producer_batch.sequence, bits)
        self.sequence = next_sequence(self.sequence, producer_batch.count)
        producer_batch.stamped = True

    def switch(self, path: ReplicationPath) -> None:
        """Make the producer of ``path`` the active one; nothing may be in flight."""
        self._idle[self.path] = _IdleProducer(self.producer, self.sequence)
        self.path = path
        self.producer, self.sequence = self._idle.pop(path)
        self.proven = False  # a broker forgets a producer that was inactive for long
