"""Decides a driver's next step for a flow, and the flow's displayed state and reason. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from replication.model import Desired, FlowState

_DESIRED_LOST = (
    "the status topic has lost its desired state, so it stays paused: start it with "
    "`isthmus resume FILE`"
)


class DriverStep(Enum):
    """The next step of a driver for a flow's query."""

    NOTHING = "nothing"
    START = "start"
    DRAIN = "drain"  # end the running epoch early, and start no other
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Situation:
    """A flow as its driver sees it at one moment."""

    desired: Desired = Desired.RUN
    is_desired_lost: bool = False  # ``desired`` was stored, and is gone
    ending: bool = False  # the whole driver ends
    restart: str = ""  # and starts again, for this reason
    hands_over: bool = False  # the query is to be replaced by one with other settings
    query: bool = False  # there is a query, dead or alive
    alive: bool = False  # and it is alive
    begun: bool = False  # it has planned its first epoch
    idle: bool = False  # no epoch of it is running
    draining: bool = False
    transforming: bool = False  # the run of a transform is at work, be it to its end
    overdue: bool = False  # draining for too long
    planned: bool = False  # what to copy is known
    partitions: int = 0
    not_running: int = 0
    rested: bool = True  # the pause after a query that failed is over
    slot_shortage: str = ""  # why it cannot start, or its units wait: too few slots
    wrong_cluster: str = ""  # which cluster an address leads to instead of the right one
    unplanned: str = ""  # why the last planning failed
    gap: str = ""  # configured topics that the source does not have
    gone: str = ""  # topics that the source lacks or hides, although the flow copied them
    at_risk: str = ""  # which of Isthmus' topics on the target loses state
    notice: str = ""  # another delivery guarantee than the usual one, and of which partitions
    problem: str = ""  # why the last query ended, or the outcome that its units report

    @property
    def should_copy(self) -> bool:
        """Return whether the flow should copy."""
        return self.desired is Desired.RUN and not self.ending

    @property
    def may_copy(self) -> bool:
        """Return whether it should and both addresses lead to the right clusters."""
        return self.should_copy and not self.wrong_cluster


def decide_step(now: Situation) -> DriverStep:
    """Return the step to take now."""
    if now.query and not now.alive:
        return DriverStep.STOP
    if now.query and now.may_copy and not (now.draining or now.hands_over):
        return DriverStep.NOTHING
    if now.query:
        return DriverStep.STOP if now.overdue or (now.draining and now.idle) else DriverStep.DRAIN
    ready = now.may_copy and now.planned and now.rested and not now.slot_shortage
    return DriverStep.START if ready else DriverStep.NOTHING


def flow_state(now: Situation) -> tuple[FlowState, str]:
    """Return the state that an operator sees, with its reason."""
    if not now.may_copy:
        return _unwanted(now)
    if now.query and now.planned and not now.partitions:
        if nothing := now.at_risk or now.gone or now.gap or now.unplanned:
            return FlowState.DEGRADED, nothing
        return FlowState.STARTING, "the target has none of the topics yet"
    if now.query and now.begun:
        return _copying(now)
    if reason := now.slot_shortage or now.problem or now.unplanned:
        return FlowState.FAILED, reason
    return FlowState.STARTING, "starting Spark" if now.planned else "reading both clusters"


def _copying(now: Situation) -> tuple[FlowState, str]:
    known = now.problem if now.not_running else now.unplanned
    reason = "; ".join(filter(None, (now.at_risk, now.slot_shortage, known, now.gone)))
    if reason or now.not_running:
        return FlowState.DEGRADED, reason
    return FlowState.RUNNING, now.gap or now.notice


def _unwanted(now: Situation) -> tuple[FlowState, str]:
    if now.should_copy:
        return FlowState.WRONG_CLUSTER, now.wrong_cluster
    if now.query or now.transforming:  # a batch may still commit
        work = "epoch" if now.query else "batches of its transforms"
        return FlowState.STOPPING, f"ending the {work}"
    stays = not now.ending or bool(now.restart)
    if now.desired is Desired.RUN and now.restart:
        return FlowState.STARTING, f"the driver starts again: {now.restart}"
    if now.desired is Desired.PAUSE and now.is_desired_lost and stays:
        return FlowState.PAUSED, _DESIRED_LOST
    if now.desired is Desired.PAUSE and stays:
        return FlowState.PAUSED, "paused by an operator; resume the flow to continue"
    return FlowState.STOPPED, ""
