"""Says what a failover does with each position of a group on the target, and why some are left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestration.flows.target_offsets import left_of, unsettable
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.offsets.groups.consumer_groups import (
    CommitGroup,
    Committed,
    LeaveGroup,
    left_alone,
)
from replication.offsets.groups.sync_round import TranslatedPosition
from replication.offsets.offset_map import Answer
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.errors import ReplicationError
    from replication.model import OffsetRange, TopicPartition
    from replication.offsets.groups.consumer_groups import GroupAction, LeaveOffset
    from replication.offsets.groups.group_sync import GroupSync
    from replication.offsets.groups.sync_round import GroupsOf
    from replication.recovery.group_positions import GroupPosition


_SHOWN = 10  # a sentence of thousands is read by nobody, and has to fit into a record


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


def committed(
    groups: GroupsOf, actions: Sequence[GroupAction]
) -> tuple[int, tuple[LeaveGroup | LeaveOffset, ...]]:
    """Commit what can be set; return of how many groups, and what is left, with the reason.

    A group that brokers refuse is left. Raises ClusterUnavailable where some did not answer.
    """
    commits = [each for each in actions if isinstance(each, CommitGroup)]
    refused = groups.commit(commits)
    passing = {name: why for name, why in refused.items() if why.retriable}
    require_committed(passing)
    left = (LeaveGroup(name, f"its offsets were refused: {why}") for name, why in refused.items())
    return len(commits) - len(refused), (*left_alone(actions), *left)


def require_committed(refused: Mapping[str, ReplicationError]) -> None:
    """Raise if offsets of groups were not committed; ClusterRejected if time does not help."""
    if refused:
        passes = any(why.retriable for why in refused.values())
        kind = ClusterUnavailable if passes else ClusterRejected
        raise kind("; ".join(f"group {g}: {why}" for g, why in refused.items()))


def named(left: Iterable[LeaveGroup | LeaveOffset]) -> str:
    """Return what is left as ends of a sentence about what was set; of many the first ones."""
    found = list(left)
    shown = "".join(f"; left: {each.group}, {each.reason}" for each in found[:_SHOWN])
    more = len(found) - _SHOWN
    return f"{shown}; and {counted(more, 'more position')}" if more > 0 else shown


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
