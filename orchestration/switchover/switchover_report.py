"""What a switchover tells: what prevents it, the groups' positions, who still writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestration.recovery.failover_report import operation_json
from orchestration.recovery.left_groups import more_left, more_left_line
from replication.offsets.groups.consumer_groups import left_alone
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.offsets.groups.consumer_groups import GroupAction, LeaveGroup, LeaveOffset
    from replication.offsets.groups.sync_round import TranslatedPosition
    from replication.recovery.source_writers import Writer
    from replication.state import Operation, ProvenPosition


@dataclass(frozen=True, slots=True)
class SwitchoverReport:
    """Where a flow and its groups stand; ``actions`` were or will be carried out.

    ``problems`` stand against it. ``consuming`` are groups with members on the source. Those of
    ``needs_leave`` have no known place on the target: without ``--leave`` they end it.
    """

    flow: str
    problems: tuple[str, ...] = ()
    positions: tuple[ProvenPosition, ...] = ()
    groups: tuple[TranslatedPosition, ...] = ()
    actions: tuple[GroupAction, ...] = ()
    consuming: tuple[str, ...] = ()
    needs_leave: tuple[str, ...] = ()
    operation: Operation | None = None

    @property
    def left(self) -> tuple[LeaveGroup | LeaveOffset, ...]:
        """Groups, and offsets of groups, that are not set."""
        return tuple(dict.fromkeys(left_alone(self.actions)))  # some are left on the way home too

    @property
    def more_left(self) -> int:
        """How many more are not set than ``left`` names."""
        return more_left(self.operation)

    def as_json(self) -> dict[str, Any]:
        """Return everything as values for JSON; times in ms."""
        return {
            "flow": self.flow,
            "operation": None if self.operation is None else operation_json(self.operation),
            "problems": list(self.problems),
            "partitions": [
                {
                    "source": f"{each.topic}-{each.partition}",
                    "source_offset": each.source,
                    "target": f"{each.target_topic}-{each.partition}",
                    "target_offset": each.target,
                }
                for each in self.positions
            ],
            "groups": [
                {
                    "group": each.group,
                    "source": str(each.source),
                    "committed": each.position.known,
                    "target": str(each.target),
                    "offset": each.answer.offset,
                    "exact": each.answer.exact,
                }
                for each in self.groups
            ],
            "left": [{"group": each.group, "why": each.reason} for each in self.left],
            "more_left": self.more_left,
            "consuming_on_source": list(self.consuming),
            "needs_leave": list(self.needs_leave),
        }

    def lines(self) -> Iterator[str]:
        """Yield it in sentences, the most important first."""
        yield from (f"{self.flow}: {each}" for each in self.problems)
        names = {each.group for each in self.groups}
        known = sum(each.answer.offset is not None for each in self.groups)
        if names:
            yield (
                f"{self.flow}: {counted(len(names), 'group')}, {known} of "
                f"{counted(len(self.groups), 'offset')} translated"
            )
        for action in self.left:
            yield f"group {action.group}: {action.reason}"
        if self.more_left:
            yield more_left_line(self.more_left)
        if self.needs_leave and self.operation is None:
            options = " ".join(f"--leave '{each}'" for each in self.needs_leave)
            yield (
                f"{self.flow}: correct that, or agree to leave these groups with {options}; else "
                "the step `set groups` undoes the switchover, unless their offsets are known then"
            )
        for name in self.consuming:
            yield (
                f"group {name} still has members on the source: what it commits there after its "
                "offsets are set is not taken over; stop its consumers first"
            )


def still_writing(writers: Iterable[Writer], names: Mapping[int, str], source: str) -> str:
    """Return who writes in which partition; ``names``: transactional ids by producer id."""
    sentences = []
    for each in sorted(writers):
        name = names.get(each.producer_id) if each.producer_id is not None else None
        by = f"{each.who}, transactional id {name}" if name else each.who
        what = "has a transaction open" if each.open_transaction else "wrote"
        sentences.append(f"{by} {what} in {each.partition} up to offset {each.offset}")
    return (
        f"producers still write to {source}: {'; '.join(sentences)}. Stop them, or deny their "
        "writes with --deny-writes"
    )
