"""What is wrong with one flow at one moment, with what an alert needs to say about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.model import ABSENT, Desired, TopicPartition
from replication.supervision.partition_states import needing_no_action, needs_somebody

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestration.flows.observation.flow_look import FlowLook
    from replication.settings.flow_settings import Flow

_MOST = 50  # partitions at risk that are kept; a text shows fewer


@dataclass(frozen=True, slots=True)
class Condition:
    """A flow's state and failed checks."""

    flow: str
    application: str
    state: str
    reason: str = ""
    healthy: bool = True
    desired: Desired = Desired.RUN
    asked_ms: int = 0  # when an operator last asked for a start, a pause or a stop
    failed: Mapping[str, str] = field(default_factory=dict)  # checks, and why
    silent: Mapping[str, str] = field(default_factory=dict)  # clusters, and what they answered
    at_risk: tuple[str, ...] = ()
    halted: tuple[tuple[str, str], ...] = ()  # topics that are not copied, and the state of each

    @property
    def needs_somebody(self) -> bool:
        """Whether a topic is in a state that does not heal by itself."""
        return any(needs_somebody(state) for _, state in self.halted)


def condition_of(
    flow: Flow, application: str, look: FlowLook | None, failed: Mapping[str, str]
) -> Condition:
    """Return the condition; ``look`` is None where the clusters did not answer in time."""
    if look is None:
        late = {flow.target: "did not answer in time"}
        return Condition(flow.name, application, "UNKNOWN", healthy=False, silent=late)
    health, seen = look.health, look.seen
    silences = {flow.target: seen.target_silence, flow.source: seen.source_silence}
    silent = {alias: why for alias, why in silences.items() if why is not None}
    return Condition(
        flow.name,
        application,
        str(health.state),
        health.reason,
        health.healthy,
        seen.desired,
        max(seen.desired_ms, seen.stopped_ms),
        failed,
        {} if seen.wrong_cluster else silent,
        tuple(_at_risk(look)),
        _halted(look),
    )


def _halted(look: FlowLook) -> tuple[tuple[str, str], ...]:
    """Return the topics that are not copied though somebody wants it, sorted, with each state."""
    no_action = needing_no_action(look.flow.policies)
    bad = {(each.topic, str(each.state)) for each in look.anchors if each.state not in no_action}
    return tuple(sorted(bad))


def _at_risk(look: FlowLook) -> list[str]:
    """Return the source offsets that are not copied, most first: ``orders-0 [120, 300)``."""
    behind = []
    for each in look.seen.anchors:
        end = look.ends.get(TopicPartition(each.topic, each.partition))
        if each.state in ABSENT or each.source is None or end is None or end <= each.source:
            continue
        behind.append((end - each.source, f"{each.topic}-{each.partition} [{each.source}, {end})"))
    return [text for _, text in sorted(behind, key=lambda each: -each[0])[:_MOST]]
