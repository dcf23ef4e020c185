"""What the loss of a flow's source would cost (RPO), and whether that keeps its limit. Pure.

The recovery point is known from two things: the position of the copy, behind which nothing was
copied, and the end of the source. While the source answers that is its end now. Else it is the last
one that a unit saw, at the time of the unit's anchor: what the source took after it cannot be
counted before it answers again; all of it is at or behind the copy's position.

A failover's report, its dry run, ``isthmus status``, the metrics and the check ``rpo_slo`` all take
their numbers from here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from replication.model import PartitionState, TopicPartition
from replication.naming.selection import group_filter
from replication.state import ProvenPosition
from replication.supervision.lag import FlowLag, SlaVerdict, while_unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import timedelta

    from replication.settings.naming_settings import Selection
    from replication.state import Anchor, GroupPositions
    from replication.supervision.lag import PartitionLag

# Topics of which nobody expects records on the target. One that our user may not read is not among
# them: its records are still there.
_GONE = {PartitionState.SOURCE_DELETED, PartitionState.NOT_SELECTED}


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
    is_now: bool = False  # the end is the present one: the source has just answered


@dataclass(frozen=True, slots=True)
class MissingOfGroup:
    """What may be missing of the records that a consumer group had not read.

    ``at_ms``: when its stored offsets last changed.
    """

    group: str
    records: int
    bytes: int
    seconds: float
    at_ms: int


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """What may be missing of a flow; partitions in order, groups by name.

    ``unplaced`` are partitions without a position: all of each may be missing, which no number
    counts.
    """

    partitions: tuple[MissingRecords, ...] = ()
    groups: tuple[MissingOfGroup, ...] = ()
    unplaced: tuple[TopicPartition, ...] = ()

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

    @property
    def unknown_since_ms(self) -> int | None:
        """Since when the source's end of a partition is not known. None: all are known now."""
        return min((each.seen_ms for each in self.partitions if not each.is_now), default=None)

    def topic(self, name: str) -> RecoveryPoint:
        """Return what may be missing of one source topic."""
        return RecoveryPoint(
            tuple(each for each in self.partitions if each.partition.topic == name),
            unplaced=tuple(each for each in self.unplaced if each.topic == name),
        )

    @property
    def loss(self) -> str:
        """What may be missing, in a few words."""
        summary = _counted(self.records, "record")
        if self.records:
            summary += f", about {self.bytes:,} bytes, {self.seconds:.1f} s"
        if self.unplaced:
            summary += (
                f", and all of {_counted(len(self.unplaced), 'partition')} without a position"
            )
        return summary

    def as_data(self) -> dict[str, Any]:
        """Return the numbers as values for JSON; times in ms."""
        return {
            "records": self.records,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "source_last_seen_ms": self.seen_ms,
            "unknown_since_ms": self.unknown_since_ms,
            "groups": [asdict(each) for each in self.groups],
            "partitions_without_position": [str(each) for each in self.unplaced],
        }


def anchored(anchors: Iterable[Anchor]) -> tuple[ProvenPosition, ...]:
    """Return the positions that the anchors state, of topics that are still to be copied.

    What was copied behind an anchor since it was written, about a second, is not counted.
    """
    return tuple(
        ProvenPosition.behind(each)
        for each in anchors
        if each.source is not None and each.state not in _GONE
    )


def unplaced(anchors: Iterable[Anchor], lag: FlowLag | None = None) -> tuple[TopicPartition, ...]:
    """Return the partitions without a position, in order, but those that ``lag`` says are empty."""
    empty = {each.partition for each in (lag.partitions if lag else ()) if each.records == 0}
    found = (
        TopicPartition(each.topic, each.partition)
        for each in anchors
        if each.source is None and each.state not in _GONE
    )
    return tuple(sorted({*found} - empty))


def without_gone(
    positions: Iterable[ProvenPosition], anchors: Iterable[Anchor]
) -> Iterator[ProvenPosition]:
    """Yield the positions but those of topics that are gone, by the states of the anchors."""
    gone = {each.topic for each in anchors if each.state in _GONE}
    return (each for each in positions if each.topic not in gone)


def selected_groups(
    groups: Iterable[GroupPositions], selection: Selection
) -> tuple[GroupPositions, ...]:
    """Return the groups that the file selects now: others were stored under an earlier one."""
    chosen = group_filter(selection)
    return tuple(each for each in groups if chosen.judge(each.group).selected)


def recovery_point(
    positions: Iterable[ProvenPosition],
    groups: Iterable[GroupPositions] = (),
    lag: FlowLag | None = None,
    now_ms: int = 0,
) -> RecoveryPoint:
    """Return what may be missing behind the positions, and of it what groups had not read.

    ``lag`` is that of the partitions whose source has just answered, at ``now_ms``; ``groups`` are
    the stored offsets of the selected groups at the source.
    """
    now = {each.partition: each for each in (lag.partitions if lag else ())}
    found = {TopicPartition(each.topic, each.partition): each for each in positions}
    sizes = _record_sizes(found)
    partitions = {
        where: _missing(each, sizes[where], now.get(where), now_ms) for where, each in found.items()
    }
    ordered = tuple(partitions[where] for where in sorted(partitions))
    unread = (_of_group(each, partitions, sizes) for each in groups)
    return RecoveryPoint(ordered, tuple(sorted(unread, key=lambda each: each.group)))


def _record_sizes(positions: Mapping[TopicPartition, ProvenPosition]) -> dict[TopicPartition, int]:
    """Return the mean size of each partition's records.

    Of one that nothing was copied of that of its topic, or of all.
    """
    known = {where: each.record_bytes for where, each in positions.items() if each.record_bytes}
    topics: dict[str, list[int]] = defaultdict(list)
    for where, size in known.items():
        topics[where.topic].append(size)
    every = _mean(known.values())
    return {
        where: known.get(where) or _mean(topics.get(where.topic, ())) or every
        for where in positions
    }


def _mean(sizes: Collection[int]) -> int:
    return sum(sizes) // len(sizes) if sizes else 0


def _missing(
    at: ProvenPosition, size: int, now: PartitionLag | None, now_ms: int
) -> MissingRecords:
    end, behind_s, seen_ms = at.source_end, at.behind_ms / 1000, at.seen_ms
    is_now = now is not None and now.records is not None
    if now is not None and now.records is not None:
        end, behind_s, seen_ms = at.source + now.records, now.seconds or 0.0, now_ms
    records = max(0, end - at.source)
    return MissingRecords(
        TopicPartition(at.topic, at.partition),
        at.source,
        end,
        records,
        records * size,
        behind_s if records else 0.0,
        seen_ms,
        at.exact,
        is_now,
    )


def _of_group(
    group: GroupPositions,
    partitions: Mapping[TopicPartition, MissingRecords],
    sizes: Mapping[TopicPartition, int],
) -> MissingOfGroup:
    records = size = 0
    seconds = 0.0
    for topic, number, committed in group.positions:
        where = TopicPartition(topic, number)
        if (missing := partitions.get(where)) is None:
            continue
        unread = max(0, missing.source_end - max(missing.first, committed))
        records, size = records + unread, size + unread * sizes[where]
        seconds = max(seconds, missing.seconds if unread else 0.0)
    return MissingOfGroup(group.group, records, size, seconds, group.at_ms)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def evaluate_slo(
    point: RecoveryPoint, lag: FlowLag, slo: timedelta, up_s: float, silence: str | None = None
) -> SlaVerdict:
    """Say whether a failover would lose no record that is older than ``slo``.

    A partition without a position counts as lost once the driver is up (``up_s``) for that long.
    While the end of the source is not known, the objective is met as long as no partition can have
    older records; ``silence`` says which cluster does not answer.
    """
    limit = slo.total_seconds()
    late = [each for each in point.partitions if each.seconds > limit]
    if late:
        worst = max(late, key=lambda each: each.seconds)
        return SlaVerdict(
            passed=False,
            reason=f"a failover would lose records that are older than {limit:g} s in {len(late)} "
            f"of {len(point.partitions)} partitions; worst: {worst.partition}, "
            f"{worst.seconds:.0f} s, {worst.records} records",
        )
    if lag.unknown_since or silence is not None:
        found = while_unknown(lag, limit, silence, "RPO")
        last = f"; as last seen {point.loss}" if point.partitions else ""
        return SlaVerdict(found.passed, f"{found.reason}{last}")
    if lag.unknown and up_s > limit:
        return SlaVerdict(
            passed=False,
            reason=f"a failover would lose all of {len(lag.unknown)} of {len(lag.partitions)} "
            f"partitions, which have no copy position after {up_s:.0f} s, for example "
            f"{lag.unknown[0]}",
        )
    return SlaVerdict(passed=True, reason=f"a failover would lose {point.loss}, limit {limit:g} s")
