"""Says which offsets of groups can be set on the target, and why others are left. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.offsets.groups.consumer_groups import Committed, LeaveOffset
from replication.offsets.groups.sync_round import UNKNOWN_ELSEWHERE
from replication.offsets.log_bounds import nonexistent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.model import OffsetRange, TopicPartition
    from replication.offsets.groups.consumer_groups import Positions
    from replication.offsets.groups.sync_round import TranslatedPosition

    Logs = Mapping[TopicPartition, OffsetRange | str]


def existing(
    desired: Mapping[str, Positions], logs: Logs
) -> tuple[dict[str, Positions], list[LeaveOffset]]:
    """Return the offsets that exist in ``logs``, and those that are left, with the reason.

    ``logs``: the bounds of each partition, or why no offset is set there. An offset below the log
    start becomes the log start, as in a translation.
    """
    found: dict[str, Positions] = {}
    left = []
    for group, positions in desired.items():
        for where, position in positions.items():
            reason, log = unsettable(position.offset, logs[where]), logs[where]
            if reason or isinstance(log, str):
                left.append(LeaveOffset(group, where, f"offset {position.offset} {reason}"))
            else:
                offset = max(position.offset, log.start)
                found.setdefault(group, {})[where] = Committed(offset, position.metadata)
    return found, left


def unsettable(offset: int, log: OffsetRange | str) -> str:
    """Return why an offset cannot be set in a log of the target; empty if it can."""
    if isinstance(log, str):
        return log
    return "".join(each.problem for each in nonexistent([offset], log.end, "target").values())


def left_of(
    translated: Iterable[TranslatedPosition], desired: Mapping[TopicPartition, Committed]
) -> list[LeaveOffset]:
    """Return the offsets of groups that are not in ``desired``, with the reason."""
    return [
        LeaveOffset(each.group, each.target, _reason(each))
        for each in translated
        if each.target not in desired
    ]


def _reason(moved: TranslatedPosition) -> str:
    if reason := moved.problem or moved.undecided:
        return reason
    if moved.answer.offset is None:
        return f"{moved.source} offset {moved.position.offset} is not copied yet"
    return UNKNOWN_ELSEWHERE
