"""Where a group continues on the target, when its source cannot be read. Pure.

``replication.offsets.translate`` counts records in both logs. After the loss of the source only the
sync points are left, and they suffice on a straight interval: there source and target offset grow
together. Elsewhere the answer is the lowest that can be right: a group may read records again, but
skips none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.offsets.offset_map import (
    POINTS_LOST,
    has_lost_first,
    interval_of,
    intervals,
    sync_points_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from replication.offsets.known_points import KnownPoints
    from replication.offsets.offset_map import OffsetInterval, SyncPoint
    from replication.state import Anchor, GroupPositions, OffsetPoint, ProvenPosition


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """A group's committed offset at the source, and where it continues on the target.

    ``offset`` None: it is not set, for the reason ``problem``, the predicate of a sentence about
    the committed offset. ``again``: records that the
    group may read a second time, at most; 0: the next record is the one after its last commit.
    """

    group: str
    source: TopicPartition
    committed: int
    target: TopicPartition
    offset: int | None
    again: int = 0
    problem: str = ""
    at_ms: int = 0  # when the committed offset was read


def group_positions(
    groups: Iterable[GroupPositions],
    known: KnownPoints,
    proven: Mapping[TopicPartition, ProvenPosition],
) -> Iterator[GroupPosition]:
    """Yield the positions of groups, by group and partition.

    Also those in partitions without a proven position: their offsets are not set.
    """
    names = {each.topic: each.target_topic for each in known.anchors.values() if each.target_topic}
    for group in sorted(groups, key=lambda each: each.group):
        for topic, partition, offset in sorted(group.positions):
            where = TopicPartition(topic, partition)
            anchor, end = known.anchors.get(where), proven.get(where)
            target = TopicPartition(names.get(topic, topic), partition)
            found = (
                (None, 0, _unplaced(anchor))
                if anchor is None or end is None
                else target_offset(offset, tuple(known.points[where].values()), anchor, end)
            )
            yield GroupPosition(group.group, where, offset, target, *found, at_ms=group.at_ms)


def _unplaced(anchor: Anchor | None) -> str:
    """Return why an offset in a partition without a proven position is not set; what to do."""
    state = "nothing of it is copied" if anchor is None else f"it is {anchor.state}"
    reason = f", {anchor.reason}" if anchor is not None and anchor.reason else ""
    return (
        f"is in a partition that has no position on the target ({state}{reason}): consumers begin "
        "there by auto.offset.reset unless kafka-consumer-groups --reset-offsets sets an offset"
    )


def target_offset(
    offset: int, points: Collection[OffsetPoint], anchor: Anchor, end: ProvenPosition
) -> tuple[int | None, int, str]:
    """Return the target offset, how many records it may repeat, and why there is none.

    Never too high: no record that the group has not read is before it.
    """
    sync_points = sync_points_of(points, anchor)
    if problem := _unknown(offset, sync_points, points, anchor):
        return None, 0, problem
    if offset >= end.source and end.exact:
        return end.target, 0, ""
    last = sync_points[-1]
    if offset >= last.source:
        # What was copied after the last anchor was counted, but gaps at the source are unknown.
        return last.target, end.target - last.target if offset > last.source else 0, ""
    listed = intervals(sync_points, back=False)
    return _within(listed[interval_of(listed, offset)], offset)


def _unknown(
    offset: int, sync_points: Sequence[SyncPoint], points: Collection[OffsetPoint], anchor: Anchor
) -> str:
    """Return why an offset has no counterpart that is known; empty: it has one."""
    if offset < 0:
        return "does not exist"
    if not sync_points:
        return "is in a partition whose copied offset is unknown"
    if anchor.since is not None and offset < anchor.since[0]:
        return "was copied before the takeover or under another name"
    if offset < sync_points[0].source and has_lost_first(points, anchor):
        return POINTS_LOST.problem
    return ""


def _within(interval: OffsetInterval, offset: int) -> tuple[int, int, str]:
    begin, there = interval.at(interval.low)
    if offset <= begin:
        return there, 0, ""
    if interval.straight:
        return there + offset - begin, 0, ""
    lowest = interval.lowest(offset)
    highest = interval.span(1).end
    return lowest, min(highest - lowest, interval.records or 0), ""
