"""Assigns a flow's partitions to its units. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.model import PartitionPlan


class UnitPlan(NamedTuple):
    """A unit's number, which names its transactional id, and what it copies."""

    unit: int
    partitions: tuple[PartitionPlan, ...]


def unit_of(topic: str, partition: int, units: int) -> int:
    """Return the unit of a source partition.

    The answer depends on nothing else, so a topic or partition that is added moves no other
    one: a move costs a hand-over from one producer id to another. Partitions of one topic go
    round the units; the topic's checksum spreads topics of one partition.
    """
    return (crc32(topic.encode()) + partition) % units


def plan_units(partitions: Iterable[PartitionPlan], units: int) -> tuple[UnitPlan, ...]:
    """Return the units that have something to copy, in order; each partition is in one of them."""
    found: dict[int, list[PartitionPlan]] = {}
    for each in sorted(partitions, key=lambda plan: plan.source):
        found.setdefault(unit_of(*each.source, units), []).append(each)
    return tuple(UnitPlan(unit, tuple(found[unit])) for unit in sorted(found))
