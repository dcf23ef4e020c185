"""Which records may be missing on the target: per partition and per group. Pure.

The recovery point is known from two things: the proven position, behind which nothing was copied,
and the last end of the source that a unit saw. Records that the source took after that cannot be
counted before it answers again; all of them are at or behind the proven position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.recovery.group_positions import GroupPosition
    from replication.state import ProvenPosition


@dataclass(frozen=True, slots=True)
class MissingRecords:
    """Source offsets of one partition that may be missing: from ``first`` on, without end.

    ``records`` and ``bytes`` count up to ``source_end``, the last end that was seen; offsets of
    transaction markers count as records. ``seconds``: the age of the oldest of them then.
    """

    partition: TopicPartition
    first: int
    source_end: int
    records: int
    bytes: int
    seconds: float
    seen_ms: int
    exact: bool  # False: some from ``first`` on may have been copied


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """What may be missing of a flow; partitions in order."""

    partitions: tuple[MissingRecords, ...]

    @property
    def records(self) -> int:
        return sum(each.records for each in self.partitions)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.partitions)

    @property
    def seconds(self) -> float:
        return max((each.seconds for each in self.partitions), default=0.0)

    @property
    def seen_ms(self) -> int:
        """When the source was last seen by any partition, at the latest; 0: never.

        A unit that ends while the source is silent writes a last anchor with the time of its end.
        """
        return max((each.seen_ms for each in self.partitions), default=0)


def recovery_point(positions: Iterable[ProvenPosition]) -> RecoveryPoint:
    """Return what may be missing behind the proven positions."""
    found = (_missing(each) for each in positions)
    return RecoveryPoint(tuple(sorted(found, key=lambda each: each.partition)))


def _missing(at: ProvenPosition) -> MissingRecords:
    records = max(0, at.source_end - at.source)
    return MissingRecords(
        TopicPartition(at.topic, at.partition),
        at.source,
        at.source_end,
        records,
        records * at.record_bytes,
        at.behind_ms / 1000 if records else 0.0,
        at.seen_ms,
        at.exact,
    )


def missing_of_group(positions: Iterable[GroupPosition], point: RecoveryPoint) -> dict[str, int]:
    """Return, by group, how many records it had not read that may be missing, as last seen."""
    by_partition = {each.partition: each for each in point.partitions}
    found: dict[str, int] = {}
    for each in positions:
        missing = by_partition[each.source]
        unread = max(0, missing.source_end - max(missing.first, each.committed))
        found[each.group] = found.get(each.group, 0) + unread
    return found
