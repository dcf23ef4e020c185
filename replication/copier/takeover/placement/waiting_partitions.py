"""Partitions that are left out of a takeover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.model import PartitionState

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy


def halt(partition: PartitionCopy, state: PartitionState, reason: str) -> None:
    """Halt ``partition`` and exclude it from the takeover."""
    partition.topic_id = b""
    partition.halt(state, reason)


def wait(partition: PartitionCopy, reason: str) -> None:
    """Exclude ``partition`` from this takeover; the next one tries it again."""
    halt(partition, PartitionState.WAITING, reason)
