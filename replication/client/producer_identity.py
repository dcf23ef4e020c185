"""Producer identity: a transactional id, its producer id and epoch, and the driver generation."""

from __future__ import annotations

from dataclasses import dataclass

from replication.model import ProducerIdAndEpoch


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """The producer of a unit: transactional id, producer id, epoch, generation of its driver."""

    transactional_id: str
    producer_id: int
    epoch: int
    generation: int

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """The producer id and epoch in batch headers."""
        return ProducerIdAndEpoch(self.producer_id, self.epoch)

    @property
    def fences(self) -> bool:
        """Whether it can fence former appenders, and be fenced: it has a transactional id."""
        return bool(self.transactional_id)

    @property
    def rank(self) -> tuple[int, int]:
        """Order among the claims of one transactional id: a newer driver, then a newer epoch."""
        return self.generation, self.epoch
