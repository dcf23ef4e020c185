"""Dagster's jobs that move clients: the commands' steps, with the report as metadata."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial

import dagster as dg
from pydantic import Field

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.approval import await_yes
from orchestration.dagster.flow_jobs.chosen_flow import ChosenFlow, chosen, report_change
from orchestration.dagster.resources import IsthmusResource
from orchestration.failback.failback import Failback
from orchestration.failback.failback_report import FailbackReport
from orchestration.failback.tail_export import new_export_folder
from orchestration.recovery.failover import Failover
from orchestration.recovery.failover_report import FailoverReport
from orchestration.recovery.opened_operation import Kind, opened
from orchestration.recovery.target_cluster import require_target
from orchestration.switchover.switchover import Switchover
from orchestration.switchover.switchover_report import SwitchoverReport
from replication.recovery.failback import FailbackOptions, TailChoice
from replication.recovery.switchover import SwitchoverOptions
from replication.settings.flow_settings import Flow

Report = FailoverReport | SwitchoverReport | FailbackReport
_DEFAULT = SwitchoverOptions()


class Action(Enum):
    """What a run does: show the plan, carry it out, at once or after approval, or undo it."""

    PLAN = "plan"
    ASK = "ask, then carry out"
    CARRY_OUT = "carry out"
    UNDO = "undo"


class WhichFailover(dg.Config):
    action: Action = Field(
        default=Action.PLAN,
        description=(
            "PLAN: show the steps and what may be missing, and change nothing. CARRY_OUT: stop the "
            "flow, fence its producers, set the groups' offsets, open the target for clients; it "
            "continues a failover that was interrupted. ASK: show the plan, wait until a user "
            "launches the job say_yes for the flow, then the same. UNDO: close the target again, "
            "if no client wrote there, and resume the flow."
        ),
    )


class WhichMove(dg.Config):
    """How clients are moved from one cluster to the other."""

    timeout_s: float = Field(
        default=_DEFAULT.timeout_s,
        description="Limit in seconds for producers to stop, and for the copy to complete.",
    )
    quiet_s: float = Field(
        default=_DEFAULT.quiet_s,
        description="Seconds without a write to the cluster that clients leave before they move.",
    )
    deny_writes: bool = Field(
        default=_DEFAULT.deny_writes,
        description="Deny all users WRITE on the topics there while clients move.",
    )
    leave: list[str] = Field(
        default=[],
        description="Groups to leave if their place is not known; '*': all groups.",
    )

    def options(self, tail: int = _DEFAULT.tail) -> SwitchoverOptions:
        moves = self.timeout_s, self.quiet_s, self.deny_writes
        return SwitchoverOptions(*moves, tail, frozenset(self.leave))


class WhichSwitchover(WhichMove):
    action: Action = Field(
        default=Action.PLAN,
        description=(
            "PLAN: show the steps and what prevents them, and change nothing. CARRY_OUT: "
            "wait for producers, drain, stop the flow, compare, set the groups' offsets, open the "
            "target; what fails before that is undone; it continues an interrupted switchover. "
            "ASK: show the plan, wait until a user launches the job say_yes for the flow, then "
            "the same. UNDO: undo an interrupted switchover, or close the target again, if no "
            "client wrote there, and resume the flow."
        ),
    )
    tail: int = Field(
        default=_DEFAULT.tail,
        description="Newest records of each partition to compare with their copies; 0: none.",
    )


@dg.op(
    description="Fail a flow over to its target, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def fail_over(
    context: dg.OpExecutionContext, config: WhichFailover, isthmus: IsthmusResource
) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    with chosen(context, isthmus) as run, _opened(Failover, context, run) as work:
        _act(context, config.action, work)


@dg.op(
    description="Move a flow's clients to its target, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def switch_over(
    context: dg.OpExecutionContext, config: WhichSwitchover, isthmus: IsthmusResource
) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    kind = partial(Switchover, options=config.options(config.tail))
    with chosen(context, isthmus) as run, _opened(kind, context, run) as work:
        _act(context, config.action, work)


class FailbackAction(Enum):
    """What a run of a failback does."""

    PLAN = "plan"
    PREPARE = "prepare"
    ASK = "prepare, ask, then carry out"
    CARRY_OUT = "carry out"


class WhichFailback(WhichMove):
    action: FailbackAction = Field(
        default=FailbackAction.PLAN,
        description=(
            "PLAN: show the steps and the records that never arrived, and change nothing. PREPARE: "
            "write these to files, merge or keep them, and let both flows run until all is copied; "
            "clients stay where they are. CARRY_OUT: the same, or what is left of it; then move "
            "the clients back. ASK: the same, but wait after the preparation, or before it if it "
            "deletes topics, until a user launches the job say_yes for the flow."
        ),
    )
    tail: TailChoice = Field(
        default=TailChoice.MERGE,
        description=(
            "Records that never arrived at the target. MERGE: copy them there, after what clients "
            "wrote. KEEP: leave them on the source alone. TRUNCATE: delete the source topics that "
            "have some, and copy them back from the target; each must be named in delete."
        ),
    )
    delete: list[str] = Field(
        default=[],
        description="With TRUNCATE: the topics that may be deleted on the source.",
    )
    export: str = Field(
        default="",
        description="Directory for these records; empty: a new one in the state directory.",
    )
    both_sides: bool = Field(
        default=False,
        description=(
            "Active-active pair: clients stay on both clusters, and both flows keep running."
        ),
    )


@dg.op(
    description="Move a flow's clients back to its source, or show what that would do.",
    out=dg.Out(dg.Nothing),
)
def fail_back(
    context: dg.OpExecutionContext, config: WhichFailback, isthmus: IsthmusResource
) -> None:
    """Carry out ``config.action``. Raises Failure with the reason, without a stack trace."""
    with chosen(context, isthmus) as run, _opened(_failback(config, run), context, run) as work:
        work.refuse_if_open()
        if config.action is FailbackAction.PLAN:
            _plan(context, work)
            _report(context, work.preview())
        else:
            prepare = config.action is FailbackAction.PREPARE
            if config.action is FailbackAction.ASK:
                is_safe = not work.options.truncates  # nothing is deleted before the yes
                _say(context, work.carry_out(prepare=True) if is_safe else work.preview())
                await_yes(context, work.flow.name)
            _report(context, work.carry_out(prepare=prepare), work.flow)


def _failback(config: WhichFailback, run: ChosenFlow) -> partial[Failback]:
    """Return the failback that a run was configured for."""
    state_directory = run.isthmus.launcher().state_directory
    folder = config.export or str(new_export_folder(state_directory.root, run.flow.name))
    options = FailbackOptions(
        config.tail, folder, config.options(), config.both_sides, frozenset(config.delete)
    )
    return partial(Failback, options=options)


@contextmanager
def _opened(
    kind: Callable[..., Kind], context: dg.OpExecutionContext, run: ChosenFlow
) -> Iterator[Kind]:
    """Give an operation on the chosen flow."""
    clusters, launcher = run.isthmus.clusters(), run.isthmus.launcher()
    require_target(run.flow, run.config, clusters, launcher)
    of_run = partial(kind, state_directory=launcher.state_directory)
    with opened(of_run, run.flow, run.config, clusters, context.log.info) as work:
        yield work


def _act(context: dg.OpExecutionContext, action: Action, work: Failover | Switchover) -> None:
    if action is Action.UNDO:
        report_change(context, work.flow, work.undo())
        return
    work.refuse_if_open()
    if action is Action.PLAN:
        _plan(context, work)
        _report(context, work.preview())
        return
    if action is Action.ASK:
        _plan(context, work)
        _say(context, work.preview())
        await_yes(context, work.flow.name)
    _report(context, work.carry_out(), work.flow)


def _plan(context: dg.OpExecutionContext, work: Failover | Switchover | Failback) -> None:
    for step in work.steps():
        context.log.info("%s: %s; to go back: %s", step.name, step.does, step.back)


def _say(context: dg.OpExecutionContext, report: Report) -> list[str]:
    """Log a report; return its lines."""
    lines = list(report.lines())
    for line in lines:
        context.log.info(line)
    return lines


def _report(context: dg.OpExecutionContext, report: Report, moved: Flow | None = None) -> None:
    """Log the report, which becomes metadata too; of ``moved``'s stream if it was carried out."""
    lines = _say(context, report)
    found = _metadata(report)
    context.add_output_metadata(found)
    if moved is not None:
        summary = f"{context.job_name}: {lines[-1] if lines else 'carried out'}"
        context.log_event(
            dg.AssetObservation(stream_key(moved.name), description=summary, metadata=found)
        )


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
