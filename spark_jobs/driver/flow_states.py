"""What a flow's driver does next, and what it says of itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from replication.model import Desired, FlowState


class Step(Enum):
    """What the driver is to do with a flow's query now."""

    NOTHING = "nothing"
    START = "start"
    DRAIN = "drain"  # end the running epoch early and let no other begin
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Situation:
    """A flow as its driver sees it at one moment."""

    desired: Desired = Desired.RUN
    ending: bool = False  # the whole driver ends
    query: bool = False  # there is a query, dead or alive
    alive: bool = False  # and it is alive
    begun: bool = False  # it has planned its first epoch
    idle: bool = False  # no epoch of it is running
    draining: bool = False
    overdue: bool = False  # draining for too long
    planned: bool = False  # what to copy is known
    partitions: int = 0
    not_running: int = 0
    rested: bool = True  # the pause after a query that failed is over
    lacking: str = ""  # why it cannot start: too few slots
    unplanned: str = ""  # why what to copy could not be looked up the last time
    gap: str = ""  # what is asked for and the source does not have
    notice: str = ""  # what is promised for some partitions, where it is not the usual
    trouble: str = ""  # why the last query ended, or what its units say

    @property
    def wanted(self) -> bool:
        """Say whether it is to copy."""
        return self.desired is Desired.RUN and not self.ending


def decide_step(now: Situation) -> Step:
    """Return the one thing to do now."""
    if now.query and not now.alive:
        return Step.STOP
    if now.query and now.wanted and not now.draining:
        return Step.NOTHING
    if now.query:
        return Step.STOP if now.overdue or (now.draining and now.idle) else Step.DRAIN
    ready = now.wanted and now.planned and now.rested and not now.lacking
    return Step.START if ready else Step.NOTHING


def flow_state(now: Situation) -> tuple[FlowState, str]:
    """Return the state that an operator sees, with its reason."""
    if not now.wanted:
        return _unwanted(now)
    if now.query and now.begun:
        troubled = now.not_running or now.unplanned
        reason = now.trouble if now.not_running else now.unplanned
        return (
            (FlowState.DEGRADED, reason) if troubled else (FlowState.RUNNING, now.gap or now.notice)
        )
    if now.query and now.planned and not now.partitions:
        nothing = now.gap or now.unplanned or "the target has none of the topics yet"
        return FlowState.DEGRADED, nothing
    if reason := now.lacking or now.trouble or now.unplanned:
        return FlowState.FAILED, reason
    return FlowState.STARTING, "starting Spark" if now.planned else "reading both clusters"


def _unwanted(now: Situation) -> tuple[FlowState, str]:
    if now.query:
        return FlowState.STOPPING, "ending the epoch"
    if now.desired is Desired.PAUSE and not now.ending:
        return FlowState.PAUSED, "paused by an operator; resume the flow to continue"
    return FlowState.STOPPED, ""
