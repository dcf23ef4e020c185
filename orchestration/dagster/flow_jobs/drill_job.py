"""What a run of a drill does in Dagster: the command's steps, with the figures as metadata."""

from collections.abc import Iterator
from enum import Enum

import dagster as dg
from pydantic import Field

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.chosen_flow import chosen
from orchestration.dagster.resources import IsthmusResource
from orchestration.drill.drill import DrillRun, opened_drill
from orchestration.drill.drill_report import DrillReport
from orchestration.recovery.target_cluster import require_target
from replication.recovery.drill import DrillOptions

_DEFAULT = DrillOptions()


class DrillAction(Enum):
    """What a run of a drill does."""

    PLAN = "plan"
    CARRY_OUT = "carry out"


class WhichDrill(dg.Config):
    action: DrillAction = Field(
        default=DrillAction.PLAN,
        description=(
            "PLAN: show the steps, and change nothing. CARRY_OUT: practise a failover and a "
            "failback with a canary topic, a group and drivers of the drill's own; measure RTO and "
            "RPO, compare every record, write a report, and remove all that was made. The flow's "
            "topics, groups and positions are not touched."
        ),
    )
    rate: int = Field(
        default=_DEFAULT.rate, ge=1, description="Records a second while the source is lost."
    )
    partitions: int = Field(
        default=_DEFAULT.partitions, ge=1, description="Partitions of the canary topic."
    )
    timeout_s: float = Field(
        default=_DEFAULT.timeout_s,
        gt=0,
        description="Seconds for which a step waits for a driver or a copy.",
    )


@dg.op(
    description="Practise a failover and a failback of a flow, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def practise(context: dg.OpExecutionContext, config: WhichDrill, isthmus: IsthmusResource) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    options = DrillOptions(config.rate, config.partitions, config.timeout_s)
    with chosen(context, isthmus) as run:
        state_directory = isthmus.launcher().state_directory
        require_target(run.flow, run.config, isthmus.clusters(), isthmus.launcher())
        with opened_drill(run.flow, run.config, state_directory, context.log.info, options) as work:
            if config.action is DrillAction.PLAN:
                _plan(context, work)
            else:
                _report(context, work.carry_out())


def _plan(context: dg.OpExecutionContext, work: DrillRun) -> None:
    work.refuse_in_need()
    for step in work.steps():
        context.log.info("%s: %s", step.name, step.does)


def _report(context: dg.OpExecutionContext, found: DrillReport) -> None:
    """Log the report, which becomes metadata, also of the flow's stream.

    Raises Failure if the drill was not good.
    """
    lines = list(found.lines())
    for line in lines:
        context.log.info(line)
    metadata = dict(_metadata(found))
    summary = f"{context.job_name}: {lines[0]}"
    context.log_event(
        dg.AssetObservation(stream_key(found.flow), description=summary, metadata=metadata)
    )
    if not found.good:
        raise dg.Failure("\n".join(lines), metadata=metadata, allow_retries=False)
    context.add_output_metadata(metadata)


def _metadata(found: DrillReport) -> Iterator[tuple[str, dg.MetadataValue]]:
    """Yield the figures, which Dagster plots over time, the files and the whole report."""
    figures = {
        "RTO in seconds": found.rto_s,
        "RPO in seconds": found.rpo_s,
        "failback in seconds": found.failback_s,
    }
    yield from (
        (k, dg.MetadataValue.float(each)) for k, each in figures.items() if each is not None
    )
    if found.rpo_records is not None:
        yield "RPO in records", dg.MetadataValue.int(found.rpo_records)
    for each in found.files:
        yield f"report ({each.rpartition('.')[2]})", dg.MetadataValue.path(each)
    yield "report", dg.MetadataValue.json(found.as_json())
