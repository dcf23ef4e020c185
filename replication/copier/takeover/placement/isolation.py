"""With which isolation level a unit copies in an epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.copier.takeover.placement.waiting_partitions import wait
from replication.provenance.origins import carried_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.state import Anchor


def choose_isolation(partitions: Sequence[PartitionCopy], desired: str) -> None:
    """Copy all partitions with one isolation level: ``desired``, unless a former owner crashed.

    Records of a crashed owner are counted under the isolation that it copied with (E). So the unit
    keeps that one for an epoch, whose clean end allows the change; a partition that crashed under
    another isolation waits for the next epoch. ``origins`` may differ between partitions.
    """
    taken = [each for each in partitions if each.topic_id]
    bound = {each.claimed.isolation for each in taken if is_bound(each.claimed)} - {desired}
    used = min(bound, default=desired)
    for partition in taken:
        if not is_bound(partition.claimed):
            origins = carried_over(partition.plan.origins, partition.claimed.origins)
            partition.claimed = replace(partition.claimed, isolation=used, origins=origins)
        elif partition.claimed.isolation != used:
            wait(
                partition,
                f"waits for the next epoch: in this one existing copies are counted with {used}",
            )


def is_bound(known: Anchor) -> bool:
    """Say whether records behind an anchor may have to be counted under its isolation."""
    return bool(known.isolation) and not known.clean
