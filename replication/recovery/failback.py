"""A return to a source that was lost: its options, its steps, what becomes of its tail. Pure.

Until the step ``switch over`` clients stay where they are, on the cluster that the flow copies to::

    find tail ─ export tail ─ merge or keep tail ─ resume ─ drain ─┤ switch over ─ close target

To truncate a tail its topic is created anew on the source and filled from the copy, in the place of
``merge tail``: ``note topics ─ recreate topics``; ``set other groups`` follows the switchover.

In an active-active pair both clusters have clients of their own, which go on: ``set groups`` stands
in the place of ``switch over``, and both flows run on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from replication.errors import ConfigError
from replication.model import NO_LEADER_EPOCH
from replication.offsets.offset_points import OffsetPoints
from replication.recovery.procedure import StepPlan
from replication.recovery.switchover import SwitchoverOptions
from replication.state import TAIL_KEPT, Loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.state import Anchor, DivergedTail, Operation, ProvenPosition, Stored

DRAIN = "drain"  # the last step before clients have to move
_DELETE = "delete"  # of an operation's options: see FailbackOptions
SINCE = "since"  # of an operation's options: the operation that clients were moved by


class TailChoice(Enum):
    """What becomes of records that are on the source alone."""

    MERGE = "merge"
    KEEP = "keep"
    TRUNCATE = "truncate"  # delete its topics, and fill new ones from their copies


@dataclass(frozen=True, slots=True)
class FailbackOptions:
    """How to fail back. ``export``: where the tail is written; empty: nowhere.

    ``both_sides``: clients go on writing to both clusters, so both flows run on at the end.
    ``delete``: the topics that a person agreed to delete, to truncate their tails.
    """

    tail: TailChoice = TailChoice.MERGE
    export: str = ""
    moves: SwitchoverOptions = field(default_factory=SwitchoverOptions)
    both_sides: bool = False
    delete: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raise ConfigError for choices that contradict each other, or lose records."""
        if self.truncates and not self.export:
            raise ConfigError("--tail truncate deletes the tail: its records have to be exported")
        if self.delete and not self.truncates:
            raise ConfigError("--delete names topics for --tail truncate, and goes with it only")

    @property
    def truncates(self) -> bool:
        """Whether topics are created anew."""
        return self.tail is TailChoice.TRUNCATE

    def stored(self) -> dict[str, str]:
        """Return them as an operation's record holds them."""
        return {
            "choice": self.tail.value,
            "export": self.export,
            "both_sides": "yes" if self.both_sides else "",
            **with_deleted({}, self.delete),
            **self.moves.stored(),
        }

    @classmethod
    def of(cls, operation: Operation) -> FailbackOptions:
        """Return the options of an operation that was begun with ``stored``."""
        held = operation.options
        return cls(
            TailChoice(held["choice"]),
            held["export"],
            SwitchoverOptions.of(operation),
            bool(held.get("both_sides")),
            frozenset(filter(None, held.get(_DELETE, "").split(","))),
        )


def with_deleted(options: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
    """Return an operation's options with the topics that a person agreed to delete."""
    return {**options, _DELETE: ",".join(sorted(topics))}


def failback_steps(flow: str, back: str, options: FailbackOptions) -> tuple[StepPlan, ...]:
    """Return the steps of a failback of ``flow``; ``back`` is the flow from its target."""
    source, target = flow.split("->")
    stay = f"nothing has to be taken back: clients stay on {target}"
    merge = options.tail is TailChoice.MERGE
    tail = StepPlan(
        f"{options.tail.value} tail",
        f"let {flow} copy the tail to {target}, after what clients wrote there"
        if merge
        else f"leave the tail on {source}: record it as a loss, and let {flow} continue after it",
        stay if merge else f"isthmus losses FILE lists it; its records stay on {source}",
    )
    tail_steps = _recreation(source, target, back, options) if options.truncates else (tail,)
    export = StepPlan("export tail", f"write the tail to {options.export}", stay)
    return (
        StepPlan("find tail", f"find the records of {source} that never arrived at {target}", stay),
        *((export,) if options.export else ()),
        *tail_steps,
        StepPlan(
            "resume",
            f"resume {flow} and {back}; clients stay on {target}",
            f"isthmus failover FILE --flow '{flow}', which stops {flow} again",
        ),
        StepPlan(DRAIN, "wait until both have copied what was there", stay),
        _set_groups(source, back) if options.both_sides else _switch_over(source, back),
        *((_set_others(source),) if options.truncates else ()),
        StepPlan(
            "close target",
            f"{target} is not the writable cluster any more; {flow} protects {source} again",
            f"isthmus switchover FILE --flow '{flow}'",
        ),
    )


def _recreation(
    source: str, target: str, back: str, options: FailbackOptions
) -> tuple[StepPlan, ...]:
    topics = ", ".join(sorted(options.delete)) or "the topics with a tail"
    return (
        StepPlan(
            "note topics",
            f"stop {back}; note partitions, configs and groups of {topics} on {source}",
            f"isthmus resume FILE --flow '{back}': nothing is deleted yet",
        ),
        StepPlan(
            "recreate topics",
            f"delete {topics} on {source}, and create them again, empty; {back} copies all of them "
            f"from {target}, which has the only copy until then",
            f"only forward, until {source} has all; what never arrived is in {options.export}",
        ),
    )


def _set_others(source: str) -> StepPlan:
    return StepPlan(
        "set other groups",
        f"set the offsets of the groups that read the deleted topics on {source} alone",
        "isthmus offsets set FILE; no group is moved back",
    )


def _switch_over(source: str, back: str) -> StepPlan:
    return StepPlan(
        "switch over",
        f"switchover of {back}: clients move to {source}",
        f"isthmus switchover FILE --flow '{back}' --undo",
    )


def _set_groups(source: str, back: str) -> StepPlan:
    return StepPlan(
        "set groups",
        f"set the offsets of the consumer groups of {back} on {source}; groups with members there "
        f"are left, and {back} runs on",
        "isthmus offsets set FILE; no group is moved back",
    )


def kept_tail(
    anchor: Anchor, position: ProvenPosition, tail: DivergedTail, at_ms: int
) -> tuple[tuple[Stored, ...], tuple[Stored, ...]]:
    """Return offset points, then loss and anchor, that move a flow behind a tail that it leaves.

    Nothing of the flow is at or behind the proven position on the target, so whoever takes the
    partition over counts none from the new anchor on (C, D). Empty if the anchor is there already.
    """
    if anchor.source is None or anchor.source >= tail.end:
        return (), ()
    counted = position.source - anchor.source
    points = OffsetPoints.of(anchor)
    before = replace(
        anchor,
        source=tail.first,
        target=position.target,
        records=anchor.records + counted,
        source_epoch=NO_LEADER_EPOCH,
        at_ms=at_ms,
    )
    points.note(before)
    lost = anchor.lost + tail.records
    moved = points.note(replace(before, source=tail.end, source_end=tail.end, lost=lost))
    loss = Loss(
        anchor.flow,
        anchor.topic,
        anchor.partition,
        anchor.source_topic_id,
        tail.first,
        TAIL_KEPT,
        tail.end,
        f"{tail.records} records that never arrived at the target were left by {tail.operation}",
        at_ms,
    )
    return tuple(points.pending), (*((loss,) if tail.records else ()), moved)
