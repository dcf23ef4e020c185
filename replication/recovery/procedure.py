"""The steps of an operation in order, and who may carry it out. Pure.

An operation is a record on the target that each step is written to, before and after it. So any
operator, on any machine, continues where the last one was; each step may run twice::

    read the newest record ─▶ none, or done ─▶ begin a new one
                              running        ─▶ its beat moves while we watch: another works on it
                                                it does not move: continue at its step
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from replication.errors import ConfigError, FlowTaken

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.state import Operation

BEAT_S = 1.0
WATCH_S = 5.0  # a record whose beat does not move for so long has no operator
RUNNING, DONE, UNDONE = "running", "done", "undone"
FAILOVER = "failover"


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step: its name, what it does, and how to go back after it."""

    name: str
    does: str
    back: str


def failover_steps(flow: str, target: str) -> tuple[StepPlan, ...]:
    """Return the steps of a failover of ``flow`` to ``target``, in order."""
    resume = f"isthmus resume FILE --flow '{flow}'"
    return (
        StepPlan("stop", f"stop {flow}; its units write their last anchors", resume),
        StepPlan(
            "fence",
            f"fence the producers of {flow} on {target}, unless all units ended cleanly",
            f"{resume}: its units get new producers",
        ),
        StepPlan(
            "prove positions",
            f"count what {flow} appended, and write each partition's proven position",
            resume,
        ),
        StepPlan(
            "set groups",
            f"set the offsets of consumer groups on {target}; groups with members there are left",
            "isthmus offsets set; no group is moved back",
        ),
        StepPlan(
            "open target",
            f"mark {target} as the cluster that clients write to; {flow} stays stopped",
            f"isthmus failover FILE --flow '{flow}' --undo, once no client writes to {target}",
        ),
    )


def newest(operations: Iterable[Operation], flow: str) -> Operation | None:
    """Return the operation of a flow that counts: the one that was worked on last."""
    mine = (each for each in operations if each.flow == flow)
    return max(mine, key=lambda each: each.turn, default=None)


def require_idle(first: Operation | None, now: Operation | None) -> None:
    """Raise FlowTaken if an operator wrote to a running operation between two looks at it.

    Beats are compared with one another, never with our clock.
    """
    if now is not None and now.state == RUNNING and now != first:
        raise taken_by(now)


def require_turn(mine: Operation, since: Iterable[Operation]) -> None:
    """Raise FlowTaken unless ours is the highest turn, and was its first record.

    ``since`` are the flow's operations from our first read on, in the order of the log: that order
    decides between two operators that begin at the same moment.
    """
    claims: dict[int, Operation] = {}
    for each in since:
        claims.setdefault(each.turn, each)
    highest = claims[max(claims)] if claims else mine
    if highest.turn >= mine.turn and highest.instance != mine.instance:
        raise taken_by(highest)


def require_verb(verb: str, found: Operation) -> bool:
    """Say whether ``verb`` continues a running operation; False: it gives it up.

    A source may be lost while clients are moved away from it: a failover gives up a switchover.
    Nothing gives up a failover. Raises ConfigError.
    """
    if verb == found.verb:
        return True
    if found.verb == FAILOVER:
        raise ConfigError(
            f"{found.flow}: {found.verb} {found.id} of {found.by} is not finished: finish it with "
            f"isthmus {found.verb} FILE --flow '{found.flow}'"
        )
    return False


def taken_by(other: Operation) -> FlowTaken:
    """Return the error that names another operator, the operation and its step."""
    since = datetime.fromtimestamp(other.started_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    step = f"step '{other.step}'" if other.step else "between two steps"
    return FlowTaken(
        f"{other.flow}: {other.by} carries out {other.verb} {other.id}, begun {since} UTC, at "
        f"{step}; wait for it, or end that process and run this again to continue it"
    )


def remaining(steps: Sequence[StepPlan], operation: Operation) -> tuple[StepPlan, ...]:
    """Return the steps that are still to be carried out, in order."""
    ended = {name for name, _, _ in operation.done}
    return tuple(each for each in steps if each.name not in ended)


def ended(operation: Operation, step: str, at_ms: int, did: str) -> Operation:
    """Return the operation after a step."""
    return replace(operation, step="", beat_ms=at_ms, done=(*operation.done, (step, at_ms, did)))
