"""Positions of consumer groups, from the source to the target. Pure.

Rules, each a promise:

* A group with live members on the target is never touched: it has taken over there.
* No position is ever moved back, except by a person's explicit ``isthmus offsets set``.
* What is committed is exact, or too low; what is not copied yet is left as it is.
* Of a partition into which several sources are merged the lowest of their positions counts, so
  that nothing is skipped; while one of them is not known, none is committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.model import TopicPartition

UNSETTLED = -(1 << 63)  # the offset of a position that is not known now: a commit is under way
IDLE = frozenset({"Empty", "Dead"})  # states of a group without members


class Committed(NamedTuple):
    """A group's position in one partition; below 0: the client says that it has none."""

    offset: int
    metadata: str = ""


Positions = dict["TopicPartition", Committed]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its cluster lists it. ``kind``: classic, consumer (KIP-848), share or streams."""

    name: str
    state: str = "Empty"
    kind: str = "classic"
    node: int = -1  # its coordinator; -1: not known


@dataclass(frozen=True, slots=True)
class CommitGroup:
    """Set a group's positions on the target; ``former`` are those that it has there now."""

    group: str
    positions: Mapping[TopicPartition, Committed]
    former: Mapping[TopicPartition, Committed] = field(default_factory=dict)
    node: int = -1


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """Leave a group on the target as it is."""

    group: str
    reason: str


GroupAction = CommitGroup | LeaveGroup


@dataclass(frozen=True, slots=True)
class TargetGroups:
    """The target's groups and the positions that they have there."""

    listed: Mapping[str, Group] = field(default_factory=dict)
    positions: Mapping[str, Mapping[TopicPartition, Committed]] = field(default_factory=dict)


def plan_groups(
    wanted: Mapping[str, Mapping[TopicPartition, Committed]],
    target: TargetGroups,
    *,
    rewind: bool = False,
) -> Iterator[GroupAction]:
    """Yield what to do so that groups stand at the ``wanted`` positions of the target.

    ``rewind``: a person wants exactly these, also where a group is further on.
    """
    for name, positions in sorted(wanted.items()):
        there = target.listed.get(name)
        if there is not None and there.kind == "share":
            yield LeaveGroup(
                name, "it is a share group on the target, which has no committed offsets"
            )
        elif there is not None and there.state not in IDLE:
            yield LeaveGroup(name, f"it has active members on the target ({there.state})")
        else:
            former = target.positions.get(name, {})
            moved = {
                partition: new
                for partition, new in positions.items()
                if _moves(former.get(partition), new, rewind=rewind)
            }
            if moved:
                old = {each: former[each] for each in moved if each in former}
                yield CommitGroup(name, moved, old, -1 if there is None else there.node)


def _moves(former: Committed | None, new: Committed, *, rewind: bool) -> bool:
    if former is not None and former.offset == UNSETTLED:
        return False
    if former is None or former.offset < 0:
        return True
    return new.offset > former.offset or (rewind and new != former)


def lowest(positions: Iterable[Mapping[TopicPartition, Committed | None]]) -> Positions:
    """Return the lowest position that any source gives a group in each partition of the target.

    None stands for one that is not known: then the partition has none.
    """
    found: dict[TopicPartition, Committed | None] = {}
    for each in positions:
        for partition, position in each.items():
            if partition not in found:
                found[partition] = position
                continue
            other = found[partition]
            known = other is not None and position is not None
            found[partition] = min(other, position, key=_offset) if known else None
    return {where: each for where, each in found.items() if each is not None}


def _offset(position: Committed | None) -> int:
    return -1 if position is None else position.offset


def explain_group(action: GroupAction) -> Iterator[str]:
    """Yield a line for each position of an action."""
    match action:
        case LeaveGroup(group, reason):
            yield f"leave group {group} unchanged: {reason}"
        case CommitGroup(group, positions, former):
            for where, new in sorted(positions.items()):
                old = former.get(where)
                before = "" if old is None or old.offset < 0 else f" (now {old.offset})"
                yield f"set group {group} to {where} offset {new.offset}{before}"
