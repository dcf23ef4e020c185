"""Pauses, resumes or stops a flow, and waits until it is so."""

import time
from dataclasses import dataclass

import dagster as dg

from orchestration.dagster.flow_jobs.chosen_flow import ChosenFlow, chosen, report_change
from orchestration.dagster.resources import IsthmusResource
from orchestration.flows.intents import write_intent
from replication.model import Desired, FlowState

EFFECT_S = 60.0  # an epoch ends early for it; an application that is to start takes 20 s
_POLL_S = 1.0
_REACHED: dict[Desired, frozenset[str]] = {
    Desired.RUN: frozenset({FlowState.RUNNING, FlowState.DEGRADED}),
    Desired.PAUSE: frozenset({FlowState.PAUSED}),
    Desired.STOP: frozenset({FlowState.STOPPED}),
}


@dataclass(frozen=True, slots=True)
class DesiredAndActualState:
    """Desired and actual state of a flow; None: not known, its clusters did not answer."""

    desired: Desired | None
    state: str | None
    reason: str = ""


def desired_state_op(verb: str, desired: Desired) -> dg.OpDefinition:
    """Return the op that sets the desired state of the chosen flow."""

    @dg.op(name=f"write_{verb}", description=f"Set the desired state of a flow to {desired}.")
    def write(context: dg.OpExecutionContext, isthmus: IsthmusResource) -> None:
        with chosen(context, isthmus) as run:
            before = desired_and_actual_state(run)
            write_intent(run.flow, desired, isthmus.clusters())
            context.log.info("%s: desired state set to %s", run.flow.name, desired)
            after = _await_effect(run, desired)
            report_change(context, run.flow, changed(before, after, desired))

    return write


def changed(before: DesiredAndActualState, after: DesiredAndActualState, desired: Desired) -> str:
    """Return what became of a new desired state, in a sentence."""
    if before.desired is desired:
        change = f"the desired state was {desired} already"
    else:
        change = f"desired state {before.desired or 'unknown'} -> {desired}"
    if after.state in _REACHED[desired]:
        moved = after.state if before.state == after.state else f"{before.state} -> {after.state}"
        return f"{change}; state {moved}"
    found = f"state {after.state or 'unknown'}"
    return f"{change}; not in effect after {EFFECT_S:.0f} s: {found}: {after.reason}"


def desired_and_actual_state(run: ChosenFlow) -> DesiredAndActualState:
    """Return what a flow is, and is to be."""
    look = run.look()
    if look is None or look.seen.target_silence is not None:
        silence = look and look.seen.target_silence
        return DesiredAndActualState(None, None, silence or "its clusters did not answer in time")
    return DesiredAndActualState(look.seen.desired, str(look.health.state), look.health.reason)


def _await_effect(run: ChosenFlow, desired: Desired) -> DesiredAndActualState:
    deadline = time.monotonic() + EFFECT_S
    while True:
        now = desired_and_actual_state(run)
        if now.state in _REACHED[desired] or time.monotonic() > deadline:
            return now
        time.sleep(_POLL_S)
