"""Sets groups on the source that have no offset there any more, since its topics were deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.recovery.group_actions import committed, named
from replication.errors import ClusterUnavailable
from replication.offsets.groups.consumer_groups import Committed, LeaveGroup, LeaveOffset
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestration.switchover.switchover import Switchover
    from replication.model import TopicPartition


def set_other_groups(
    back: Switchover, offsets: Mapping[TopicPartition, Mapping[str, int]]
) -> tuple[str, tuple[LeaveGroup | LeaveOffset, ...]]:
    """Set groups on the source where they have no offset; ``offsets``: those on the target.

    Returns what was done, and what is left.

    Raises ClusterUnavailable where some are not known now. What time does not help is left, and
    named: the topics are deleted already, so the failback cannot be undone.
    """
    sync, listed = back.sync, back.sync.target.listed()
    names = {name for groups in offsets.values() for name in groups}
    there = sync.target.positions([listed[name] for name in names if name in listed])
    back.reader.look()
    answers = back.reader.translate({w: set(groups.values()) for w, groups in offsets.items()})
    errors = back.reader.errors
    for where, error in errors.items():
        if error.retriable:
            raise ClusterUnavailable(f"offsets of groups in {where} were not translated: {error}")
    left: list[LeaveOffset] = []
    desired: dict[str, dict[TopicPartition, Committed]] = {}
    for where, groups in offsets.items():
        for name, offset in groups.items():
            answer = answers.get(where, {}).get(offset)
            if where in there.get(name, {}):
                continue
            if answer is not None and answer.offset is not None:
                desired.setdefault(name, {})[where] = Committed(answer.offset)
                continue
            refused = f"was not translated: {errors[where]}" if where in errors else ""
            why = refused or (answer and answer.problem) or "is not copied yet"
            left.append(LeaveOffset(name, where, f"{where} offset {offset} of its copy {why}"))
    actions = sync.towards(desired, rewind=False) if desired else ()
    count, unset = committed(sync.target, (*actions, *left))
    return f"set the offsets of {counted(count, 'other group')}{named(unset)}", unset
