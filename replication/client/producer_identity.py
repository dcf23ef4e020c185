"""Who appends: a transactional id, the producer id and epoch that a broker gave for it."""

from __future__ import annotations

from dataclasses import dataclass

from replication.model import ProducerIdAndEpoch


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """Who wants to append: a unit, its producer, and the driver it works for."""

    transactional_id: str
    producer_id: int
    epoch: int
    generation: int

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """What batches carry."""
        return ProducerIdAndEpoch(self.producer_id, self.epoch)

    @property
    def fences(self) -> bool:
        """Whether it can bar former appenders, and be barred: it has a transactional id."""
        return bool(self.transactional_id)

    @property
    def rank(self) -> tuple[int, int]:
        """Order among claimants of one transactional id: a newer driver, then a newer epoch."""
        return self.generation, self.epoch
