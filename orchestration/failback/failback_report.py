"""What a failback tells: what prevents it, and the tail of each partition."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from orchestration.recovery.failover_report import operation_json
from orchestration.recovery.left_groups import more_left, more_left_line
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestration.switchover.switchover_report import SwitchoverReport
    from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
    from replication.state import DivergedTail, Operation


@dataclass(frozen=True, slots=True)
class FailbackReport:
    """The tails of a flow's partitions; ``moved``: what the switchover back found.

    ``deleted``: topics that are deleted on the source, and created anew. ``only_here``: how many of
    their offsets the copies lack beside the tail. ``unset``: what other steps left of groups.
    ``moved_problem``: why it is not known what the switchover found, though it was carried out.
    """

    flow: str
    problems: tuple[str, ...] = ()
    tails: tuple[DivergedTail, ...] = ()
    moved: SwitchoverReport | None = None
    operation: Operation | None = None
    deleted: tuple[str, ...] = ()
    only_here: int = 0
    unset: tuple[LeaveGroup | LeaveOffset, ...] = ()
    moved_problem: str = ""

    @property
    def records(self) -> int:
        return sum(each.records for each in self.tails)

    @property
    def left(self) -> tuple[LeaveGroup | LeaveOffset, ...]:
        """Groups, and offsets of groups, that are not set."""
        return (*(() if self.moved is None else self.moved.left), *self.unset)

    @property
    def more_left(self) -> int:
        """How many more are not set than ``left`` names."""
        return more_left(self.operation) + (0 if self.moved is None else self.moved.more_left)

    def as_json(self) -> dict[str, Any]:
        """Return everything as values for JSON; times in ms."""
        return {
            "flow": self.flow,
            "operation": None if self.operation is None else operation_json(self.operation),
            "problems": list(self.problems),
            "tail_records": self.records,
            "deleted_topics": list(self.deleted),
            "only_at_source": self.only_here,
            "partitions": [asdict(each) for each in self.tails],
            "left": [{"group": each.group, "why": each.reason} for each in self.left],
            "more_left": self.more_left,
            "switchover": None if self.moved is None else self.moved.as_json(),
            "switchover_problem": self.moved_problem,
        }

    def lines(self) -> Iterator[str]:
        """Yield it in sentences, the most important first."""
        yield from (f"{self.flow}: {each}" for each in self.problems)
        if not self.problems:
            yield (
                f"{self.flow}: {counted(self.records, 'record')} of "
                f"{counted(len(self.tails), 'partition')} never arrived at the target"
            )
        for each in sorted(self.tails, key=lambda e: (e.topic, e.partition)):
            if each.records:
                doubt = "" if each.whole else "; some of them may be there"
                yield (
                    f"  {each.topic}-{each.partition}: {counted(each.records, 'record')} from "
                    f"offset {each.first} on{doubt}"
                )
        for topic in self.deleted:
            yield (
                f"{topic} will be deleted on the source and copied back from the target, which has "
                "the only copy until then"
            )
        if self.only_here:
            yield (
                f"besides the tail, the source has {counted(self.only_here, 'offset')} of these "
                "topics that the target does not have (deleted there by retention, from before the "
                "copy began, or listed by isthmus losses FILE): they are exported too"
            )
        if self.moved is not None:
            yield from self.moved.lines()
        for unset in self.unset:
            yield f"group {unset.group}: {unset.reason}"
        if unnamed := more_left(self.operation):
            yield more_left_line(unnamed)
        if self.moved_problem:
            yield f"what the switchover left of groups is not known: {self.moved_problem}"
