"""A return to a source that was lost: its options, its steps, what becomes of its tail. Pure.

Until the step ``switch over`` clients stay where they are, on the cluster that the flow copies to::

    find tail ─ export tail ─ merge or keep tail ─ resume ─ drain ─┤ switch over ─ close target
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from replication.model import NO_LEADER_EPOCH
from replication.offsets.offset_points import OffsetPoints
from replication.recovery.procedure import StepPlan
from replication.recovery.switchover import SwitchoverOptions
from replication.state import TAIL_KEPT, Loss

if TYPE_CHECKING:
    from replication.state import Anchor, DivergedTail, Operation, ProvenPosition, Stored

DRAIN = "drain"  # the last step before clients have to move
SINCE = "since"  # of an operation's options: the operation that clients were moved by


class TailChoice(Enum):
    """What becomes of records that are on the source alone."""

    MERGE = "merge"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class FailbackOptions:
    """How to fail back. ``export``: where the tail is written; empty: nowhere."""

    tail: TailChoice = TailChoice.MERGE
    export: str = ""
    moves: SwitchoverOptions = field(default_factory=SwitchoverOptions)

    def stored(self) -> dict[str, str]:
        """Return them as an operation's record holds them."""
        return {"choice": self.tail.value, "export": self.export, **self.moves.stored()}

    @classmethod
    def of(cls, operation: Operation) -> FailbackOptions:
        """Return the options of an operation that was begun with ``stored``."""
        held = operation.options
        return cls(TailChoice(held["choice"]), held["export"], SwitchoverOptions.of(operation))


def failback_steps(flow: str, back: str, options: FailbackOptions) -> tuple[StepPlan, ...]:
    """Return the steps of a failback of ``flow``; ``back`` is the flow from its target."""
    source, target = flow.split("->")
    stay = f"nothing has to be taken back: clients stay on {target}"
    merge = options.tail is TailChoice.MERGE
    tail = StepPlan(
        f"{options.tail.value} tail",
        f"let {flow} copy the tail to {target}, behind what clients wrote there"
        if merge
        else f"leave the tail on {source}: note it as a loss, and move {flow} behind it",
        stay if merge else f"isthmus losses lists it; its records stay on {source}",
    )
    export = StepPlan("export tail", f"write the tail to {options.export}", stay)
    return (
        StepPlan("find tail", f"find the records of {source} that never arrived at {target}", stay),
        *((export,) if options.export else ()),
        tail,
        StepPlan(
            "resume",
            f"let {flow} and {back} run, while clients stay on {target}",
            f"isthmus failover FILE --flow '{flow}', which stops {flow} again",
        ),
        StepPlan(DRAIN, "wait until both have copied what was there", stay),
        StepPlan(
            "switch over",
            f"isthmus switchover of {back}: clients move to {source}",
            f"isthmus switchover FILE --flow '{back}' --undo",
        ),
        StepPlan(
            "close target",
            f"{target} is not the writable cluster any more; {flow} protects {source} again",
            f"isthmus switchover FILE --flow '{flow}'",
        ),
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
