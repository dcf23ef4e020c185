"""The steps of an operation in order, and who may carry it out. Pure.

An operation is a record on the target that each step is written to, before and after it. So any
operator, on any machine, continues where the last one was; each step may run twice::

    read the newest record ─▶ none, or done ─▶ begin a new one
                              running        ─▶ its beat moves while we watch: another works on it
                                                it does not move: continue at its step,
                              unless somebody has resumed the flow since: begin a new one
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.durations import format_moment
from replication.errors import ClusterRejected, ConfigError, FlowTaken
from replication.supervision.driver_lease import highest_claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.state import Intent, Operation

BEAT_S = 1.0
WATCH_S = 5.0  # a record whose beat does not move for so long has no operator
RUNNING, DONE, UNDONE = "running", "done", "undone"
FAILOVER, FAILBACK, DRILL = "failover", "failback", "drill"


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step: its name, what it does, and how to go back after it; empty: nothing has to."""

    name: str
    does: str
    back: str = ""


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
            "isthmus offsets set FILE; no group is moved back",
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


def newest_turns(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return of each operation the record of the operator that worked on it last."""
    found: dict[tuple[str, str], Operation] = {}
    for each in operations:
        known = found.setdefault((each.flow, each.id), each)
        if each.turn >= known.turn:  # former records have other keys: the later one is newer
            found[each.flow, each.id] = each
    return tuple(found.values())


def require_idle(first: Operation | None, now: Operation | None) -> None:
    """Raise FlowTaken if an operator wrote to a running operation between two looks at it.

    Beats are compared with one another, never with our clock.
    """
    if now is not None and now.state == RUNNING and now != first:
        raise taken_by(now)


def require_turn(mine: Operation, since: Iterable[Operation]) -> None:
    """Raise FlowTaken unless ours is the highest turn, and was its first record.

    ``since`` are the flow's operations from our first read on, in the order of the log.
    """
    highest = highest_claim(since, lambda each: each.turn, mine)
    if highest.turn >= mine.turn and highest.instance != mine.instance:
        raise taken_by(highest)


def require_verb(verb: str, found: Operation) -> bool:
    """Say whether ``verb`` continues a running operation; False: it gives it up.

    A source may be lost while clients are moved away from it, or back to it: a failover gives up a
    switchover and a failback. Nothing else gives up anything but a switchover. Raises ConfigError.
    """
    if verb == found.verb:
        return True
    if found.verb == FAILOVER or (found.verb == FAILBACK and verb != FAILOVER):
        raise ConfigError(
            f"{found.flow}: {found.verb} {found.id} of {found.by} is not finished: finish it with "
            f"isthmus {found.verb} FILE --flow '{found.flow}'"
        )
    return False


def taken_by(other: Operation) -> FlowTaken:
    """Return the error that names another operator, the operation and its step."""
    step = f"step '{other.step}'" if other.step else "between two steps"
    since = format_moment(other.started_ms)
    return FlowTaken(
        f"{other.flow}: {other.by} carries out {other.verb} {other.id}, begun {since} UTC, at "
        f"{step}; wait for it, or end that process and run this again to continue it"
    )


def stopped_by(operation: Operation) -> str:
    """Return the end of the signature with which an operation stops its flow."""
    return f"{operation.verb} {operation.id}"


def require_stopped(operation: Operation, intent: Intent) -> None:
    """Raise ClusterRejected if the flow was to run again since the operation stopped it.

    Then it may have copied on, so the steps that ended are worth nothing. Nobody can resume it once
    the target is open.
    """
    was_stopped = any(name == "stop" for name, _, _ in operation.done)
    if was_stopped and not operation.writable and not intent.by.endswith(stopped_by(operation)):
        raise ClusterRejected(
            f"{operation.flow}: {intent.by} set its desired state to {intent.desired} after "
            f"{operation.verb} {operation.id} had stopped it: run this again to start from its "
            "first step"
        )


def is_left_stopped(last: Operation, intent: Intent) -> bool:
    """Say whether an operation was undone, and its flow not resumed: its operator was killed."""
    return last.state == UNDONE and intent.by.endswith(stopped_by(last))


def open_since(last: Operation | None, target: str) -> str:
    """Return since which operation a target is open for clients; empty: it is not."""
    if last is None or last.writable != target:
        return ""
    return f"{target} is open for clients since {last.verb} {last.id} of {last.by}"


def standing(last: Operation | None, target: str) -> str:
    """Return how far a flow's last operation got, and what can be done; empty: nothing is left."""
    if last is not None and (last.verb, last.state) == (FAILBACK, RUNNING):
        again = _command(last, last.verb)
        return f"{last.verb} {last.id} of {last.by} is not finished; continue it: {again}"
    if since := open_since(last, target):
        return since
    if last is None or last.state != RUNNING:
        return ""
    back = ("resume", "") if last.verb == FAILOVER else (last.verb, " --undo")
    return (
        f"{last.verb} {last.id} of {last.by} is not finished; continue it: "
        f"{_command(last, last.verb)}; or go back: {_command(last, back[0])}{back[1]}"
    )


def _command(last: Operation, verb: str) -> str:
    return f"isthmus {verb} FILE --flow '{last.flow}'"


def remaining(steps: Sequence[StepPlan], operation: Operation) -> tuple[StepPlan, ...]:
    """Return the steps that are still to be carried out, in order."""
    ended = {name for name, _, _ in operation.done}
    return tuple(each for each in steps if each.name not in ended)


def ended(operation: Operation, step: str, at_ms: int, did: str) -> Operation:
    """Return the operation after a step."""
    return replace(operation, step="", beat_ms=at_ms, done=(*operation.done, (step, at_ms, did)))
