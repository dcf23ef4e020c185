"""What a failover tells: recovery point and groups, as values and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from orchestration.recovery.left_groups import more_left, more_left_line
from replication.durations import format_moment
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset, left_alone
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replication.offsets.groups.consumer_groups import GroupAction
    from replication.recovery.group_positions import GroupPosition
    from replication.recovery.group_sync_age import GroupSyncAge
    from replication.state import Operation
    from replication.supervision.recovery_point import MissingRecords, RecoveryPoint


@dataclass(frozen=True, slots=True)
class FailoverReport:
    """What may be missing of a flow, and where its groups continue.

    ``actions`` were or will be carried out. ``synced``: how old the groups' stored offsets are.
    """

    flow: str
    point: RecoveryPoint
    groups: tuple[GroupPosition, ...]
    actions: tuple[GroupAction, ...]
    synced: GroupSyncAge
    operation: Operation | None = None

    @property
    def left(self) -> tuple[LeaveGroup | LeaveOffset, ...]:
        """Groups, and offsets of groups, that are not set."""
        return left_alone(self.actions)

    @property
    def more_left(self) -> int:
        """How many more are not set than ``left`` names."""
        return more_left(self.operation)

    @property
    def warning(self) -> str:
        """What may be wrong with the offsets of groups; empty: nothing, or none are synced."""
        return self.synced.warning if self.groups or self.synced.enabled else ""

    def as_json(self) -> dict[str, Any]:
        """Return everything as values for JSON; times in ms."""
        return {
            "flow": self.flow,
            "operation": None if self.operation is None else operation_json(self.operation),
            "recovery_point": self.point.as_data(),
            "partitions": [_partition(each) for each in self.point.partitions],
            "groups": [
                {**asdict(each), "source": str(each.source), "target": str(each.target)}
                for each in self.groups
            ],
            "group_sync": self.synced.as_data(),
            "missing_of_group": {each.group: each.records for each in self.point.groups},
            "left": [asdict(each) | {"why": each.reason} for each in self.left],
            "more_left": self.more_left,
        }

    def lines(self) -> Iterator[str]:
        """Yield what may be missing, in sentences, the most important first."""
        point = self.point
        if not (point.partitions or point.unplaced):
            yield f"{self.flow}: nothing was copied yet"
            return
        yield (
            f"{self.flow}: {counted(point.records, 'record')} (about {point.bytes} bytes, the "
            f"oldest {point.seconds:.1f} s old) of {counted(len(point.partitions), 'partition')} "
            f"may be missing{_as_of(point)}"
        )
        for each in point.partitions:
            if each.records or not each.exact:
                yield _missing_line(each)
        for where in point.unplaced:
            yield f"  {where}: no copied offset is known, so all of its records may be missing"
        unread = {each.group: each.records for each in point.groups}
        names = sorted({each.group for each in self.groups})
        if not names:
            enabled = str(self.synced.enabled).lower()
            yield (
                f"no group offsets are stored (sync.group.offsets.enabled = {enabled}): no group "
                "is set, and consumers begin by auto.offset.reset"
            )
        else:
            yield self.synced.sentence
        if self.warning:
            yield f"warning: {self.warning}"
        for name in names:
            yield from _group_lines(name, self.groups, unread.get(name, 0))
        for action in self.left:
            yield f"group {action.group}: {action.reason}"
        if self.more_left:
            yield more_left_line(self.more_left)


def _as_of(point: RecoveryPoint) -> str:
    """Return when the ends of the source were read, as the end of a sentence."""
    if point.unknown_since_ms is None:
        return " now"
    if not point.seen_ms:
        return "; the ends of the source were never read, so other missing records are not counted"
    first, last = format_moment(point.unknown_since_ms), format_moment(point.seen_ms)
    read = f"between {first} and {last}"
    if point.unknown_since_ms // 1000 >= point.seen_ms // 1000:
        read = f"at {last}"
    return (
        f"; the ends of the source were last read {read} UTC: records produced after that may be "
        "missing too, and are not counted"
    )


def _missing_line(each: MissingRecords) -> str:
    known = f"{each.records} were seen there" if each.records else "none was seen there"
    doubt = "" if each.exact else "; some of these may be on the target (an upper bound)"
    return f"  {each.partition}: offsets from {each.first} on; {known}{doubt}"


def _group_lines(name: str, positions: Sequence[GroupPosition], unread: int) -> Iterator[str]:
    mine = [each for each in positions if each.group == name]
    again = sum(each.again for each in mine)
    unset = sum(each.offset is None for each in mine)
    if unset == len(mine):
        where = "none of them can be set"
    elif again:
        where = f"{again} records may be read again"
    else:
        where = "at the record after its last commit"
    if 0 < unset < len(mine):
        where += f", but {unset} of them cannot be set"
    at = format_moment(mine[0].at_ms)
    yield (
        f"group {name}: {counted(len(mine), 'offset')}, last changed at {at} UTC, "
        f"{where}; of the records that it had not read, {unread} may be missing"
    )


def _partition(each: MissingRecords) -> dict[str, Any]:
    return {**asdict(each), "partition": str(each.partition)}


def operation_json(operation: Operation) -> dict[str, Any]:
    """Return an operation's record for JSON, with its steps by name."""
    steps = [{"step": name, "at_ms": at, "did": did} for name, at, did in operation.done]
    left = {
        step: [{"group": g, "topic": t, "partition": n, "why": why} for g, t, n, why in positions]
        for step, positions in operation.left.items()
    }
    return {**asdict(operation), "done": steps, "left": left}
