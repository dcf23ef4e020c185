"""What a round of group sync asks for, finds, and does. Pure, but for the ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.groups import CommitGroup, Committed, GroupAction, LeaveGroup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.flow_offsets import Answers, Known
    from replication.groups import Group, Positions
    from replication.model import TopicPartition
    from replication.offsets import Answer
    from replication.selection import Judgement


class OffsetsOf(Protocol):
    """A flow's offsets; see adapters.offset_reader."""

    known: Known
    trouble: dict[TopicPartition, str]

    def look(self) -> Known: ...

    def translate(
        self,
        wanted: Mapping[TopicPartition, Collection[int]],
        *,
        back: bool = False,
        ahead: bool = True,
    ) -> Answers: ...


class GroupsOf(Protocol):
    """The groups of one cluster; see adapters.wire.groups. ``away``: brokers that are silent."""

    @property
    def away(self) -> Mapping[int, str]: ...

    def listed(self) -> Mapping[str, Group]: ...

    def positions(self, groups: Iterable[Group]) -> Mapping[str, Positions]: ...

    def commit(self, plan: Sequence[CommitGroup]) -> Mapping[str, str]: ...


class Moved(NamedTuple):
    """A group's position in one source partition, and its place on the target; None: not yet."""

    group: str
    source: TopicPartition
    position: Committed
    target: TopicPartition
    answer: Answer


@dataclass(frozen=True, slots=True)
class Round:
    """What one round found, and what is to be done about it."""

    moved: tuple[Moved, ...] = ()
    actions: tuple[GroupAction, ...] = ()
    silent: str = ""  # a broker that did not answer: its groups or partitions are not in here
    excluded: tuple[Judgement, ...] = ()  # groups that a rule leaves out

    @property
    def commits(self) -> tuple[CommitGroup, ...]:
        return tuple(each for each in self.actions if isinstance(each, CommitGroup))

    @property
    def waiting(self) -> int:
        """How many positions are not copied yet."""
        return sum(each.answer.offset is None for each in self.moved)


def by_group(
    moved: Iterable[Moved],
) -> dict[str, dict[TopicPartition, Committed | None]]:
    """Return the target's positions of each group; None where it is not copied yet."""
    found: dict[str, dict[TopicPartition, Committed | None]] = {}
    for each in moved:
        offset = each.answer.offset
        there = None if offset is None else Committed(offset, each.position.metadata)
        found.setdefault(each.group, {})[each.target] = there
    return found


def told(found: Round, refused: Mapping[str, str], groups: int) -> str:
    """Return a round in one line; ``groups`` belong to the flow."""
    left = [each for each in found.actions if isinstance(each, LeaveGroup)]
    parts = [f"{groups} groups, {len(found.commits) - len(refused)} updated"]
    if left:
        parts.append(f"{len(left)} unchanged, {left[0].group} because {left[0].reason}")
    if found.excluded:
        first = found.excluded[0]
        parts.append(f"{len(found.excluded)} excluded, {first.name}: {first.reason}")
    if found.waiting:
        parts.append(f"{found.waiting} offsets not copied yet")
    if refused:
        group, why = next(iter(refused.items()))
        parts.append(f"{len(refused)} rejected, {group} because {why}")
    return "; ".join(parts)
