"""One round of consumer group sync: its interfaces, its result, its summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.offsets.groups.consumer_groups import (
    CommitGroup,
    Committed,
    GroupAction,
    LeaveGroup,
    LeaveOffset,
    open_transaction,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.errors import ReplicationError
    from replication.model import TopicPartition
    from replication.naming.selection import Judgement
    from replication.offsets.flow_offsets import Answers
    from replication.offsets.groups.consumer_groups import Group, Positions
    from replication.offsets.known_points import KnownPoints
    from replication.offsets.offset_map import Answer


UNKNOWN_ELSEWHERE = (
    "the partition also has records of others, and the group's position among those is unknown"
)


class OffsetsOf(Protocol):
    """A flow's offsets; see adapters.offset_reader."""

    known: KnownPoints
    errors: dict[TopicPartition, ReplicationError]

    def look(self) -> KnownPoints: ...

    def look_at_target(self) -> KnownPoints: ...

    def translate(
        self,
        committed: Mapping[TopicPartition, Collection[int]],
        *,
        back: bool = False,
        ahead: bool = True,
    ) -> Answers: ...


class GroupsOf(Protocol):
    """The groups of one cluster; see adapters.wire.groups."""

    @property
    def unavailable(self) -> Mapping[int, str]: ...

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Return which groups brokers refuse to read, as of their last reading, and why."""

    def listed(self) -> Mapping[str, Group]: ...

    def positions(self, groups: Iterable[Group]) -> Mapping[str, Positions]: ...

    def commit(self, plan: Sequence[CommitGroup]) -> Mapping[str, ReplicationError]: ...


class TranslatedPosition(NamedTuple):
    """A group's offset in one source partition, and the answer for the target."""

    group: str
    source: TopicPartition
    position: Committed
    target: TopicPartition
    answer: Answer
    refused: bool = False  # brokers refuse what a translation in this partition needs

    @property
    def problem(self) -> str:
        """Return in a sentence why it is not translated, and waiting does not help; or empty."""
        if not self.answer.problem:
            return ""
        return f"{self.source} offset {self.position.offset} {self.answer.problem}"

    @property
    def undecided(self) -> str:
        """Return in a sentence that its offset at the source is not known now; or empty."""
        return open_transaction(self.source) if self.position.is_undecided else ""


@dataclass(frozen=True, slots=True)
class SyncRound:
    """What one round found, and what is to be done about it."""

    translated: tuple[TranslatedPosition, ...] = ()
    actions: tuple[GroupAction, ...] = ()
    unread: str = ""  # a broker that did not answer: its groups or partitions are not in here
    excluded: tuple[Judgement, ...] = ()  # groups that a rule leaves out
    unknown: tuple[LeaveOffset, ...] = ()  # translated, and not set for records of others there
    unreadable: tuple[LeaveGroup, ...] = ()  # of the actions: brokers of the source refuse to read

    @property
    def commits(self) -> tuple[CommitGroup, ...]:
        return tuple(each for each in self.actions if isinstance(each, CommitGroup))

    @property
    def waiting(self) -> int:
        """Number of offsets that are not copied yet."""
        return len(self.late)

    @property
    def late(self) -> tuple[LeaveOffset, ...]:
        """The offsets that are not copied yet."""
        return tuple(
            LeaveOffset(
                e.group, e.target, f"{e.source} offset {e.position.offset} is not copied yet"
            )
            for e in self.translated
            if e.answer.offset is None and not (e.problem or e.undecided)
        )

    @property
    def undecided(self) -> tuple[tuple[str, TopicPartition], ...]:
        """Groups and source partitions of offsets that a transaction there may change now."""
        return tuple((each.group, each.source) for each in self.translated if each.undecided)

    @property
    def problems(self) -> tuple[LeaveOffset, ...]:
        """The offsets that are not translated, and no waiting helps."""
        return tuple(each for each in self.actions if isinstance(each, LeaveOffset))


def untranslated(translated: Iterable[TranslatedPosition]) -> list[LeaveOffset]:
    """Return an action for each offset that is not translated and no waiting helps, in order."""
    odd = [each for each in translated if each.problem]
    return sorted(
        (LeaveOffset(each.group, each.target, each.problem) for each in odd),
        key=lambda action: (action.group, action.where),
    )


def unknown_elsewhere(
    translated: Iterable[TranslatedPosition],
    desired: Mapping[str, Positions],
    errors: Mapping[TopicPartition, ReplicationError],
) -> tuple[LeaveOffset, ...]:
    """Return the offsets with a translation that are not ``desired``, in order.

    ``errors``: why it is not known of a target partition how far its other records were read.
    """
    odd = (each for each in translated if each.answer.offset is not None)
    left = {(each.group, each.target) for each in odd if each.target not in desired[each.group]}
    why = {where: f"{UNKNOWN_ELSEWHERE}: {error}" for where, error in errors.items()}
    return tuple(LeaveOffset(*e, why.get(e[1], UNKNOWN_ELSEWHERE)) for e in sorted(left))


def by_group(
    translated: Iterable[TranslatedPosition],
) -> dict[str, dict[TopicPartition, Committed | None]]:
    """Return the target offsets by group; None where an offset has no translation (yet)."""
    found: dict[str, dict[TopicPartition, Committed | None]] = {}
    for each in translated:
        offset = each.answer.offset
        there = None if offset is None else Committed(offset, each.position.metadata)
        found.setdefault(each.group, {})[each.target] = there
    return found


def summary(found: SyncRound, refused: Mapping[str, ReplicationError], groups: int) -> str:
    """Return a round in one line; ``groups``: number of the flow's groups."""
    left = [each for each in found.actions if isinstance(each, LeaveGroup)]
    parts = [f"{groups} groups, {len(found.commits) - len(refused)} updated"]
    if left:
        parts.append(f"{len(left)} unchanged, {left[0].group} because {left[0].reason}")
    if found.excluded:
        first = found.excluded[0]
        parts.append(f"{len(found.excluded)} excluded, {first.name}: {first.reason}")
    if found.problems:
        one = found.problems[0]
        parts.append(f"{len(found.problems)} not moved, {one.group} because {one.reason}")
    if found.unknown:
        one = found.unknown[0]
        parts.append(
            f"{len(found.unknown)} waiting, {one.group} in {one.where} because {one.reason}"
        )
    if found.waiting:
        parts.append(f"{found.waiting} offsets not copied yet")
    if found.undecided:
        parts.append(f"{len(found.undecided)} offsets in open transactions")
    if refused:
        group, why = next(iter(refused.items()))
        parts.append(f"{len(refused)} rejected, {group} because {why}")
    return "; ".join(parts)


ALL_EVERY_S = 60.0  # a client may have changed a group on the target


@dataclass(slots=True)
class IdleGroups:
    """Remembers the source offsets of groups whose target offsets are up to date."""

    _at: dict[str, Positions] = field(default_factory=dict)
    _all_at: float = -ALL_EVERY_S

    def active(self, positions: Mapping[str, Positions], now: float) -> Mapping[str, Positions]:
        """Return the groups whose offsets have changed since; once a minute all of them."""
        if now - self._all_at >= ALL_EVERY_S:
            self._all_at = now
            self._at.clear()
            return positions
        return {name: where for name, where in positions.items() if self._at.get(name) != where}

    def note(
        self,
        positions: Mapping[str, Positions],
        found: SyncRound,
        refused: Mapping[str, ReplicationError],
    ) -> None:
        """Note the result of a round for the groups in it.

        A group of which every offset has a translation, which the target has, is idle. Groups that
        wait, also for what is known of records of others, were left unchanged or were rejected stay
        active; all groups do when a broker did not answer.
        """
        if found.unread:
            return
        again = {each.group for each in found.translated if each.answer.offset is None}
        again |= {each.group for each in found.actions if isinstance(each, LeaveGroup)}
        again |= {each.group for each in found.unknown}
        self._at.update(
            (name, where)
            for name, where in positions.items()
            if name not in again and name not in refused
        )
