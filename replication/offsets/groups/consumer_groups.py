"""Plan which group offsets to commit on the target, and which groups are left alone. Pure.

Rules, each a promise:

* A group with live members on the target is never changed: it consumes there.
* No position is moved back, except by an operator's explicit ``isthmus offsets set``.
  Kafka compares nothing at a commit: a group that joins, commits and leaves after the target was
  read and before our commit (milliseconds; seconds while a coordinator moves) is not protected.
* A committed offset is exact, or too low; an offset that is not copied yet is not committed.
* A group whose offsets on the target are unknown now is left alone: they may be further on.
* An offset at the source that is part of an open transaction is unknown, which is not none.
* Where several sources are merged into a partition the lowest of their positions counts, so
  that nothing is skipped; while one of them is unknown, none is committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.model import UNKNOWN_OFFSET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.model import TopicPartition

UNSTABLE = -(1 << 63)  # the offset of a position that is unknown now: its transaction is open
IDLE = frozenset({"Empty", "Dead"})  # states of a group without members


class Committed(NamedTuple):
    """A group's committed offset in one partition, as Kafka says it: see ``known``."""

    offset: int  # or UNKNOWN_OFFSET, or UNSTABLE
    metadata: str = ""

    @property
    def known(self) -> int | None:
        """The offset; None: the group has none, or it is not known now."""
        return None if self.offset in {UNKNOWN_OFFSET, UNSTABLE} else self.offset

    @property
    def is_undecided(self) -> bool:
        """Whether a transaction that commits another one is open: what it will be is not known."""
        return self.offset == UNSTABLE


Positions = dict["TopicPartition", Committed]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its cluster lists it. ``kind``: classic, consumer (KIP-848), share or streams."""

    name: str
    state: str = "Empty"
    kind: str = "classic"
    node: int | None = None  # its coordinator; None: not known


@dataclass(frozen=True, slots=True)
class CommitGroup:
    """Commit a group's offsets on the target; ``former`` are its present ones."""

    group: str
    positions: Mapping[TopicPartition, Committed]
    former: Mapping[TopicPartition, Committed] = field(default_factory=dict)
    node: int | None = None


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """Leave a group on the target unchanged."""

    group: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeaveOffset:
    """Leave a group's offset in one partition of the target unchanged; it may move in others."""

    group: str
    where: TopicPartition
    reason: str


GroupAction = CommitGroup | LeaveGroup | LeaveOffset


def left_alone(actions: Iterable[GroupAction]) -> tuple[LeaveGroup | LeaveOffset, ...]:
    """Return the groups, and the offsets of groups, that are not set."""
    return tuple(each for each in actions if not isinstance(each, CommitGroup))


@dataclass(frozen=True, slots=True)
class TargetGroups:
    """The target's groups, and the committed offsets of those that are idle.

    ``whole``: all coordinators answered, so that a group that is not listed does not exist.
    ``unreadable``: why brokers refuse to read the offsets of some.
    """

    listed: Mapping[str, Group] = field(default_factory=dict)
    positions: Mapping[str, Mapping[TopicPartition, Committed]] = field(default_factory=dict)
    whole: bool = True
    unreadable: Mapping[str, str] = field(default_factory=dict)


def plan_groups(
    desired: Mapping[str, Mapping[TopicPartition, Committed]],
    target: TargetGroups,
    *,
    rewind: bool = False,
) -> Iterator[GroupAction]:
    """Yield the actions that bring groups to the ``desired`` offsets on the target.

    ``rewind``: an operator set exactly these, also where a group is further on.
    """
    for name, positions in sorted(desired.items()):
        if reason := _reason_to_leave(name, positions, target):
            yield LeaveGroup(name, reason)
            continue
        there, former = target.listed.get(name), target.positions.get(name, {})
        moved = {
            partition: new
            for partition, new in positions.items()
            if _moves(former.get(partition), new, rewind=rewind)
        }
        if moved:
            old = {each: former[each] for each in moved if each in former}
            yield CommitGroup(name, moved, old, None if there is None else there.node)


def _reason_to_leave(name: str, partitions: Iterable[TopicPartition], target: TargetGroups) -> str:
    there = target.listed.get(name)
    if there is None:
        return (
            "" if target.whole else "a coordinator of the target that may have it does not answer"
        )
    if there.kind == "share":
        return "it is a share group on the target, which has no committed offsets"
    if there.state not in IDLE:
        return f"it has active members on the target ({there.state})"
    if name not in target.positions:
        why = target.unreadable.get(name)
        return "its offsets on the target could not be read" + (f": {why}" if why else "")
    former = target.positions[name]
    undecided = [each for each in partitions if each in former and former[each].is_undecided]
    return open_transaction(undecided[0]) if undecided else ""


def open_transaction(where: TopicPartition) -> str:
    """Return why a group's offset in a partition is not known now."""
    return f"a transaction with its offset in {where} is open"


def stop_first(group: str, where: TopicPartition) -> str:
    """Return what to do about it where the offset is needed now."""
    return f"group {group}: {open_transaction(where)}; stop its consumers, or wait until it ends"


def _moves(former: Committed | None, new: Committed, *, rewind: bool) -> bool:
    if former is None or former.known is None:
        return True
    return new.offset > former.offset or (rewind and new != former)


def lowest(positions: Iterable[Mapping[TopicPartition, Committed | None]]) -> Positions:
    """Return the lowest position over all sources for each partition of the target.

    None means that a position is unknown: then the partition is left out.
    """
    found: dict[TopicPartition, Committed | None] = {}
    for each in positions:
        for partition, position in each.items():
            if partition not in found:
                found[partition] = position
                continue
            other = found[partition]
            if other is None or position is None:
                found[partition] = None
            elif position.offset < other.offset:
                found[partition] = position
    return {where: each for where, each in found.items() if each is not None}


def explain_group(action: GroupAction) -> Iterator[str]:
    """Yield a line for each position of an action."""
    match action:
        case LeaveGroup(group, reason):
            yield f"leave group {group} unchanged: {reason}"
        case LeaveOffset(group, where, reason):
            yield f"leave group {group} in {where} unchanged: {reason}"
        case CommitGroup(group, positions, former):
            for where, new in sorted(positions.items()):
                old = former.get(where)
                before = "" if old is None or old.known is None else f" (now {old.known})"
                yield f"set group {group} to {where} offset {new.offset}{before}"
