"""Says what a failover does with each position of a group on the target, and why some are left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestration.flows.target_offsets import left_of, unsettable
from replication.offsets.groups.consumer_groups import Committed
from replication.offsets.groups.sync_round import TranslatedPosition
from replication.offsets.offset_map import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.model import OffsetRange, TopicPartition
    from replication.offsets.groups.consumer_groups import GroupAction
    from replication.offsets.groups.group_sync import GroupSync
    from replication.recovery.group_positions import GroupPosition


def on_target(
    groups: Iterable[GroupPosition], logs: Mapping[TopicPartition, OffsetRange | str]
) -> tuple[GroupPosition, ...]:
    """Return the positions as they can be set on the target; of the others, why they cannot.

    ``logs``: the bounds of each partition, or why no offset is set there. An offset below the log
    start becomes the log start.
    """
    return tuple(
        each if each.offset is None else _settable(each, each.offset, logs[each.target])
        for each in groups
    )


def _settable(at: GroupPosition, offset: int, log: OffsetRange | str) -> GroupPosition:
    reason = unsettable(offset, log)
    if isinstance(log, str) or reason:
        problem = f"is offset {offset} on the target, which {reason}"
        return replace(at, offset=None, again=0, problem=problem)
    return replace(at, offset=max(offset, log.start))


def group_actions(
    groups: Sequence[GroupPosition], sync: GroupSync, unshared: Mapping[TopicPartition, int]
) -> tuple[GroupAction, ...]:
    """Return what is to be set, and the groups and offsets that are left, with the reason.

    ``unshared``: see ``GroupSync.desired``.
    """
    translated = [_translated(each) for each in groups]
    desired = sync.desired(translated, unshared).positions
    left = [
        offset for each in translated for offset in left_of([each], desired.get(each.group, {}))
    ]
    return (*sync.towards(desired, rewind=False), *left)


def _translated(at: GroupPosition) -> TranslatedPosition:
    answer = Answer(at.offset, exact=at.again == 0, problem=at.problem)
    return TranslatedPosition(at.group, at.source, Committed(at.committed), at.target, answer)
