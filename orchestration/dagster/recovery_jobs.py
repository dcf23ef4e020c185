"""Dagster's jobs that move clients: the commands' steps, with the report as metadata."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

import dagster as dg
from pydantic import Field

from orchestration.dagster.resources import IsthmusResource
from orchestration.failback.failback import Failback
from orchestration.failback.report import FailbackReport
from orchestration.failback.tail_export import new_export_folder
from orchestration.flows.intents import find_flow
from orchestration.recovery.failover import Failover
from orchestration.recovery.flow_operation import Kind, opened
from orchestration.recovery.report import FailoverReport
from orchestration.recovery.switchover import Switchover
from orchestration.recovery.switchover_report import SwitchoverReport
from orchestration.recovery.target_cluster import require_target
from replication.errors import ReplicationError
from replication.recovery.failback import FailbackOptions, TailChoice
from replication.recovery.switchover import SwitchoverOptions

Report = FailoverReport | SwitchoverReport | FailbackReport
_DEFAULT = SwitchoverOptions()


class Action(Enum):
    """What a run does: show the plan, carry it out, or undo it."""

    PLAN = "plan"
    CARRY_OUT = "carry out"
    UNDO = "undo"


class WhichFailover(dg.Config):
    flow: str = Field(description="Name of the flow whose source is gone, such as A->B.")
    action: Action = Field(
        default=Action.PLAN,
        description=(
            "PLAN: show the steps and what may be missing, and change nothing. CARRY_OUT: stop the "
            "flow, fence its producers, set the groups' offsets, open the target for clients; it "
            "continues a failover that was interrupted. UNDO: close the target again, if no "
            "client wrote there, and resume the flow."
        ),
    )


class WhichSwitchover(dg.Config):
    flow: str = Field(description="Name of the flow whose clients move, such as A->B.")
    action: Action = Field(
        default=Action.PLAN,
        description=(
            "PLAN: show the steps and what stands against them, and change nothing. CARRY_OUT: "
            "wait for producers, drain, stop the flow, compare, set the groups' offsets, open the "
            "target; what fails before that is undone; it continues one that was interrupted. "
            "UNDO: take back one that was interrupted, or close the target again, if no client "
            "wrote there, and resume the flow."
        ),
    )
    timeout_s: float = Field(
        default=_DEFAULT.timeout_s,
        description="Seconds for which producers are waited for, and then the copy.",
    )
    quiet_s: float = Field(
        default=_DEFAULT.quiet_s,
        description="Seconds for which nobody may have written to the source.",
    )
    deny_writes: bool = Field(
        default=_DEFAULT.deny_writes,
        description="Deny everybody WRITE on the source topics until the target is open.",
    )
    tail: int = Field(
        default=_DEFAULT.tail,
        description="Last records of each partition that are compared; 0: none.",
    )


@dg.op(
    description="Fail a flow over to its target, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def fail_over(
    context: dg.OpExecutionContext, config: WhichFailover, isthmus: IsthmusResource
) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    with _opened(Failover, context, config.flow, isthmus) as work:
        _act(context, config.action, work)


@dg.op(
    description="Move a flow's clients to its target, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def switch_over(
    context: dg.OpExecutionContext, config: WhichSwitchover, isthmus: IsthmusResource
) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    with _opened(Switchover, context, config.flow, isthmus) as work:
        work.options = SwitchoverOptions(
            config.timeout_s, config.quiet_s, config.deny_writes, config.tail
        )
        _act(context, config.action, work)


class FailbackAction(Enum):
    """What a run of a failback does."""

    PLAN = "plan"
    PREPARE = "prepare"
    CARRY_OUT = "carry out"


class WhichFailback(dg.Config):
    flow: str = Field(description="Name of the flow that was failed over, such as A->B.")
    action: FailbackAction = Field(
        default=FailbackAction.PLAN,
        description=(
            "PLAN: show the steps and the records that never arrived, and change nothing. PREPARE: "
            "write these to files, merge or keep them, and let both flows run until all is copied; "
            "clients stay where they are. CARRY_OUT: the same, or what is left of it; then move "
            "the clients back."
        ),
    )
    tail: TailChoice = Field(
        default=TailChoice.MERGE,
        description=(
            "Records that never arrived at the target. MERGE: copy them there, behind what clients "
            "wrote. KEEP: leave them on the source alone."
        ),
    )
    export: str = Field(
        default="",
        description="Directory for these records; empty: a new one in the state directory.",
    )
    timeout_s: float = Field(
        default=_DEFAULT.timeout_s,
        description="Seconds for which the copy is waited for, and producers to stop.",
    )
    quiet_s: float = Field(
        default=_DEFAULT.quiet_s,
        description="Seconds for which nobody may have written to the target.",
    )
    deny_writes: bool = Field(
        default=_DEFAULT.deny_writes,
        description="Deny everybody WRITE on the target while clients move.",
    )


@dg.op(
    description="Move a flow's clients back to its source, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def fail_back(
    context: dg.OpExecutionContext, config: WhichFailback, isthmus: IsthmusResource
) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    with _opened(Failback, context, config.flow, isthmus) as work:
        folder = config.export or str(new_export_folder(isthmus.launcher().home.root, config.flow))
        moves = SwitchoverOptions(config.timeout_s, config.quiet_s, config.deny_writes)
        work.options = FailbackOptions(config.tail, folder, moves)
        work.refuse_if_open()
        if config.action is FailbackAction.PLAN:
            _plan(context, work)
            _report(context, work.preview())
        else:
            prepare = config.action is FailbackAction.PREPARE
            _report(context, work.carry_out(prepare=prepare))


@contextmanager
def _opened(
    kind: type[Kind], context: dg.OpExecutionContext, name: str, isthmus: IsthmusResource
) -> Iterator[Kind]:
    """Give an operation on the flow called ``name``; what goes wrong is a Failure in one line."""
    try:
        config, clusters = isthmus.config(), isthmus.clusters()
        flow = find_flow(config, name)
        require_target(flow, config, clusters, isthmus.launcher())
        with opened(kind, flow, config, clusters, context.log.info) as work:
            yield work
    except ReplicationError as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def _act(context: dg.OpExecutionContext, action: Action, work: Failover | Switchover) -> None:
    if action is Action.UNDO:
        context.log.info(work.undo())
        return
    work.refuse_if_open()
    if action is Action.PLAN:
        _plan(context, work)
    _report(context, work.preview() if action is Action.PLAN else work.carry_out())


def _plan(context: dg.OpExecutionContext, work: Failover | Switchover | Failback) -> None:
    for step in work.steps():
        context.log.info("%s: %s; to go back: %s", step.name, step.does, step.back)


def _report(context: dg.OpExecutionContext, report: Report) -> None:
    """Log the report, which becomes metadata too."""
    for line in report.lines():
        context.log.info(line)
    context.add_output_metadata(_metadata(report))


def _metadata(report: Report) -> dict[str, dg.MetadataValue]:
    """Return the whole report, and the recovery point of a failover as numbers."""
    found: dict[str, dg.MetadataValue] = {}
    if isinstance(report, FailoverReport):
        found = {
            "missing records": dg.MetadataValue.int(report.point.records),
            "missing bytes": dg.MetadataValue.int(report.point.bytes),
            "missing seconds": dg.MetadataValue.float(report.point.seconds),
        }
    if isinstance(report, FailbackReport):
        found = {"records that never arrived": dg.MetadataValue.int(report.records)}
    return {**found, "report": dg.MetadataValue.json(report.as_json())}
