"""Notice that a last stable offset does not advance: a transaction is open at the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.client.fetch_values import Fetched
    from replication.copier.partition.partition_copy import PartitionCopy

STALLED_AFTER_S = 5.0  # transactions of applications are shorter


@dataclass(slots=True)
class StalledLso:
    """Tracks since when each partition's last stable offset has not advanced."""

    _since: dict[PartitionCopy, tuple[int, float]] = field(default_factory=dict)

    def on_response(self, partition: PartitionCopy, found: Fetched, now: float) -> None:
        """Check a read_committed response; set ``stalled_lso`` if a transaction blocks it."""
        if not found.stable < found.high_watermark or partition.position < found.stable:
            self._since.pop(partition, None)
            partition.status.stalled_lso = ""
            return
        offset, since = self._since.setdefault(partition, (found.stable, now))
        if offset != found.stable:
            self._since[partition] = found.stable, now
            partition.status.stalled_lso = ""
        elif now - since >= STALLED_AFTER_S:
            behind = found.high_watermark - found.stable
            partition.status.stalled_lso = (
                f"blocked by an open transaction at offset {found.stable} of the source; "
                f"{behind} later offsets wait until it ends"
            )
