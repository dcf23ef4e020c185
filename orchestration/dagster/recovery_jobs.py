"""The Dagster job of a failover: the same steps as the command's, with its report as metadata."""

from enum import Enum

import dagster as dg
from pydantic import Field

from orchestration.dagster.resources import IsthmusResource
from orchestration.flows.intents import find_flow
from orchestration.recovery.failover import Failover, opened_failover
from orchestration.recovery.report import FailoverReport
from orchestration.recovery.target_cluster import require_target
from replication.errors import ReplicationError
from replication.recovery.procedure import failover_steps


class Action(Enum):
    """What a run does: show the plan, carry the failover out, or undo it."""

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


@dg.op(
    description="Fail a flow over to its target, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def fail_over(
    context: dg.OpExecutionContext, config: WhichFailover, isthmus: IsthmusResource
) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    try:
        whole = isthmus.config()
        flow = find_flow(whole, config.flow)
        clusters = isthmus.clusters()
        require_target(flow, whole, clusters, isthmus.launcher())
        with opened_failover(flow, whole, clusters, context.log.info) as work:
            _act(context, config.action, work)
    except ReplicationError as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def _act(context: dg.OpExecutionContext, action: Action, work: Failover) -> None:
    if action is Action.UNDO:
        context.log.info(work.undo())
        return
    work.refuse_if_open()
    if action is Action.PLAN:
        for step in failover_steps(work.flow.name, work.flow.target):
            context.log.info("%s: %s; to go back: %s", step.name, step.does, step.back)
    report = work.preview() if action is Action.PLAN else work.carry_out()
    for line in report.lines():
        context.log.info(line)
    context.add_output_metadata(_metadata(report))


def _metadata(report: FailoverReport) -> dict[str, dg.MetadataValue]:
    """Return the recovery point as numbers, and the whole report."""
    point = report.point
    return {
        "missing records": dg.MetadataValue.int(point.records),
        "missing bytes": dg.MetadataValue.int(point.bytes),
        "missing seconds": dg.MetadataValue.float(point.seconds),
        "report": dg.MetadataValue.json(report.as_json()),
    }
