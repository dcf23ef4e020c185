"""Count the records and bytes copied of one partition, and how late. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.partition.latency import CopyLatency

if TYPE_CHECKING:
    from replication.copier.partition.producer_batch import ProducerBatch
    from replication.model import RecordsAndBytes
    from replication.state import Anchor


@dataclass(slots=True, eq=False)
class CopyCounters:
    """Counts since the flow's first start; anchors report them."""

    records: int = 0
    bytes: int = 0
    lost: int = 0  # source offsets that were skipped by policy
    delays: CopyLatency = field(default_factory=CopyLatency)
    last_timestamp: int = 0  # ms, of the last record that was copied
    caught_up_ms: int = 0  # when the copy last reached the end of the source

    def resume_from(self, anchor: Anchor) -> None:
        """Continue from the counts in ``anchor``."""
        self.records, self.bytes, self.lost = anchor.records, anchor.bytes, anchor.lost
        self.delays = CopyLatency.of(anchor.timed, anchor.age_ms, anchor.latency_ms)

    def add(self, producer_batch: ProducerBatch) -> None:
        """Count a batch that the target acknowledged."""
        self.records += producer_batch.count
        self.bytes += len(producer_batch.batch)
        self.last_timestamp = producer_batch.timestamp

    def add_counted(self, size: RecordsAndBytes) -> None:
        """Count what a takeover counted on the target."""
        self.records += size.records
        self.bytes += size.bytes

    def behind_ms(self, now_ms: int) -> int:
        """Return the age of the oldest record not yet copied; call it only when there is one."""
        since = max(self.caught_up_ms, min(self.last_timestamp, now_ms))
        return max(0, now_ms - since) if since else 0
