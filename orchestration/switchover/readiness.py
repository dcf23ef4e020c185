"""Says why a flow's clients cannot be moved to its target now. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.model import ABSENT, Desired, PartitionState
from replication.planning.explain import counted
from replication.supervision.health import has_driver

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from orchestration.flows.observation.flow_look import FlowLook

_SHOWN = 5  # partitions


def problems(look: FlowLook) -> Iterator[str]:
    """Yield what prevents a switchover, each with what to do; nothing: it can begin."""
    name, seen = look.flow.name, look.seen
    silent = [each for each in (seen.target_silence, seen.source_silence) if each]
    if silent:
        yield from silent
        return
    if seen.desired is not Desired.RUN:
        yield (
            f"{name} has the desired state {seen.desired}, set by {seen.desired_by}: isthmus "
            f"resume FILE --flow '{name}', and wait until it has caught up"
        )
    elif not has_driver(seen) and not look.flow.is_batch:  # one that is, is run when it is time
        yield f"no driver runs {name}: start it (isthmus run FILE), and wait until it has caught up"
    denied = {e.topic for e in seen.anchors if e.state == PartitionState.SOURCE_DENIED}
    for topic in sorted(denied)[:_SHOWN]:  # what it holds since is not copied
        yield (
            f"{topic} is SOURCE_DENIED: grant Isthmus' user READ on it on {look.flow.source}, and "
            "let it catch up; or take it out of the topics of the flow"
        )
    odd = [
        each for each in seen.anchors if each.state not in {PartitionState.RUNNING, *sorted(ABSENT)}
    ]
    for each in odd[:_SHOWN]:
        reason = f", {each.reason}" if each.reason else ""
        yield (
            f"{each.topic}-{each.partition} is {each.state}{reason}: see isthmus status FILE and "
            "isthmus resolve FILE"
        )
    if len(odd) > _SHOWN:
        yield f"and {counted(len(odd) - _SHOWN, 'more partition')} not RUNNING"


def halted_by_denial(looks: Iterable[FlowLook], topics: Collection[str]) -> Iterator[str]:
    """Yield which flows copy to ``topics``, and would halt where writes to these are denied."""
    for look in looks:
        here = sorted({e.target_topic for e in look.seen.anchors} & set(topics))
        if here and look.seen.desired is Desired.RUN:
            name = look.flow.name
            yield (
                f"{name} copies to {here[0]} on {look.flow.target} and would halt while writes "
                f"are denied: isthmus pause FILE --flow '{name}', and resume it afterwards"
            )
