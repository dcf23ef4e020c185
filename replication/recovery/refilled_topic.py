"""A topic of a source that is created anew, and filled from its copy: where both flows begin. Pure.

The diverged tail goes with the old topic (``--tail truncate``). The flow back copies all that the
copy holds, also the records that were the source's once; its rule says so up to the proven position
(``ForwardingRule.whole_before``), and behind it copies are kept from home as ever. The flow itself
begins at the first record of the new topic: all that comes home there has its target on its path.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from replication.model import NO_LEADER_EPOCH, OffsetRange, PartitionState
from replication.offsets.offset_points import OffsetPoints
from replication.provenance.origins import carried_over, with_whole_before
from replication.state import TAIL_CUT, Loss

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.offsets.offset_map import Answer
    from replication.state import Anchor, DivergedTail, OffsetPoint, ProvenPosition


class RecreatedTopicIds(NamedTuple):
    """The ids of a topic in hex: the one that was created on the source, and its copy's."""

    source: str
    target: str


class NewStart(NamedTuple):
    """A partition's anchor for its flow, and the offset points to be written before it."""

    points: tuple[OffsetPoint, ...]
    anchor: Anchor


def homeward(before: Anchor, begin: int, ids: RecreatedTopicIds, rule: str) -> NewStart:
    """Return where the flow back begins to fill a partition; it has ended cleanly there (G).

    ``begin``: the log start of the copy. ``rule``: see ``whole_rule``.
    """
    return _start(
        replace(
            before,
            target_topic=before.topic,
            source=begin,
            target=0,
            clean=True,
            appenders=(),
            source_topic_id=ids.target,
            target_topic_id=ids.source,
            origins=rule,
            own_from=0,
        )
    )


def whole_rule(rule: str, position: ProvenPosition | None) -> str:
    """Return the rule of the flow back: all records that stand before the proven position.

    Behind it the flow has not appended, so there is nothing of the source's to be brought home.
    """
    return with_whole_before(rule, 0 if position is None else position.target)


def outward(
    anchor: Anchor, position: ProvenPosition, tail: DivergedTail, new: tuple[str, int]
) -> NewStart:
    """Return where the flow begins in a partition of the new topic: at its first record.

    ``new``: the id of that topic, and the time in ms. Nothing of the flow is at or behind the
    proven position on the target, so whoever takes the partition over counts none there (C).
    """
    return _start(
        replace(
            anchor,
            source=0,
            target=position.target,
            records=anchor.records + position.source - (anchor.source or 0),
            lost=anchor.lost + tail.records,
            source_topic_id=new[0],
            at_ms=new[1],
            origins=carried_over(anchor.origins, ""),
            own_from=position.target,
        )
    )


def _start(at: Anchor) -> NewStart:
    """Return an anchor as the first of a copy: its offset points begin with it."""
    first = replace(
        at,
        state=PartitionState.WAITING,
        reason="",
        source_end=at.source or 0,
        source_epoch=NO_LEADER_EPOCH,
        behind_ms=0,
        run=None,
        since=None,
        former="",
    )
    points = OffsetPoints.of(first)
    return NewStart(tuple(points.pending), replace(first, run=points.newest))


def cut_tail(tail: DivergedTail, topic_id: str, where: str, at_ms: int) -> Loss:
    """Return the loss that says which records went with the old topic; ``where`` they are kept."""
    return Loss(
        tail.flow,
        tail.topic,
        tail.partition,
        topic_id,
        tail.first,
        TAIL_CUT,
        tail.end,
        f"{tail.records} records that never arrived at the target were deleted with their topic by "
        f"{tail.operation}; they are in {where}",
        at_ms,
    )


def only_at_source(
    log: OffsetRange, first_copied: Answer | None, left_out: Iterable[OffsetRange], copied_to: int
) -> list[OffsetRange]:
    """Return the offsets of a partition's source that its copy lacks, but for the tail, in order.

    ``first_copied``: where the copy's log start is at the source; it is lower than the first record
    there since retention deleted others, or since copying began later. Where it is not known, all
    before ``copied_to`` counts: too many rather than too few.
    """
    known = first_copied is not None and first_copied.exact and first_copied.offset is not None
    first = first_copied.offset if known and first_copied is not None else copied_to
    found = [OffsetRange(log.start, min(max(log.start, first or 0), log.end))]
    for each in sorted(left_out):
        begin = max(each.start, found[-1].end, log.start)
        found.append(OffsetRange(begin, min(max(begin, each.end), log.end)))
    return [each for each in found if each.start < each.end]
