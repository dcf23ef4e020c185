"""Store the offset points of partitions, before an anchor names them.

An anchor repeats its newest point alone. If its unit ended before an older one was stored, the next
unit would continue without it, and offsets in front of it would have no translation for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.client.state_topic.state_log import StateLog
    from replication.copier.partition.partition_copy import PartitionCopy


async def store_points(log: StateLog, partitions: Iterable[PartitionCopy]) -> None:
    """Append the points that are not stored yet. Raises as StateLog.append."""
    due = [each.offset_points for each in partitions if each.offset_points.pending]
    await log.append([point for each in due for point in each.pending])
    for each in due:
        each.pending.clear()
