"""What is lost with a topic that is deleted on the source: records only there, and offsets."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import OffsetRange, PartitionState, TopicPartition
from replication.offsets.groups.consumer_groups import stop_first
from replication.offsets.groups.sync_round import TranslatedPosition
from replication.offsets.offset_map import NOT_YET, Answer
from replication.recovery.refilled_topic import only_at_source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from orchestration.recovery.flow_operation import FlowOperation
    from replication.errors import ReplicationError
    from replication.offsets.groups.consumer_groups import Committed
    from replication.state import DivergedTail, ProvenPosition


def only_here(
    work: FlowOperation, positions: Sequence[ProvenPosition]
) -> dict[TopicPartition, list[OffsetRange]]:
    """Return the offsets of these partitions that their copies lack, beside the tail."""
    known, reader = work.reader.look(), work.reader
    places = {TopicPartition(each.topic, each.partition): each for each in positions}
    here, there = (reader.ends(places, target=each) for each in (False, True))
    begins = {each: there[each].start for each in places}
    answers = reader.translate({each: {begin} for each, begin in begins.items()}, back=True)
    return {
        each: only_at_source(
            here[each],
            answers.get(each, {}).get(begins[each]),
            (
                OffsetRange(loss.first, loss.next)
                for loss in known.losses[each]
                if loss.state != PartitionState.SOURCE_CORRUPT  # which cannot be read
            ),
            position.source,
        )
        for each, position in places.items()
    }


def groups_on_target(
    work: FlowOperation,
    topics: Collection[str],
    tails: Sequence[DivergedTail],
    positions: Sequence[ProvenPosition],
) -> Mapping[str, Mapping[TopicPartition, int]]:
    """Return where all groups of the source that read ``topics`` continue on the target.

    A group within the tail continues behind what was copied. One whose place cannot be known is
    left out. Raises ClusterUnavailable where one is not known now: its offset goes with the topic;
    ClusterRejected where time does not help.
    """
    sync, _ = work.sync, work.reader.look()
    ends = {TopicPartition(each.topic, each.partition): each.target for each in positions}
    firsts = {TopicPartition(each.topic, each.partition): each.first for each in tails}
    its_groups = sync.source.positions(sync.source.listed().values())
    _require_read(map(ClusterUnavailable, sync.source.unavailable.values()))
    _require_read(ClusterRejected(f"{e.group}: {e.reason}") for e in sync.unreadable())
    held = [
        (name, where, position)
        for name, its in its_groups.items()
        for where, position in its.items()
        if where.topic in topics and where in ends and _is_held(name, where, position)
    ]
    asked: dict[TopicPartition, set[int]] = defaultdict(set)
    for _, where, position in held:
        if position.offset < firsts[where]:
            asked[where].add(position.offset)
    answers = work.reader.translate(asked) if asked else {}
    _require_read(work.reader.errors.values())
    translated = [
        TranslatedPosition(
            name,
            where,
            position,
            where,
            answers.get(where, {}).get(position.offset, NOT_YET)
            if position.offset < firsts[where]
            else Answer(ends[where]),
        )
        for name, where, position in held
    ]
    desired, errors_back = sync.desired(translated)
    _require_read(errors_back.values())
    return {
        name: {where: each.offset for where, each in its.items()} for name, its in desired.items()
    }


def _is_held(group: str, where: TopicPartition, position: Committed) -> bool:
    """Say whether the group has an offset there. Raises ClusterUnavailable if that is not known."""
    if position.is_undecided:
        raise ClusterUnavailable(stop_first(group, where))
    return position.offset >= 0


def _require_read(errors: Iterable[ReplicationError]) -> None:
    for error in errors:
        kind = ClusterUnavailable if error.retriable else ClusterRejected
        raise kind(f"some groups were not read: {error}")
