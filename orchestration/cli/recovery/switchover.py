"""``isthmus switchover``: moves clients to the target while the source works."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from orchestration.cli.flows.flow_options import File, One  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.recovery.procedure_output import (
    cannot_start,
    print_result,
    progress,
    show_plan,
)
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import print_line
from orchestration.cli.screen.output import Format, Output
from orchestration.cli.screen.pipes import drop_unread
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import answering_flows
from orchestration.recovery.opened_operation import opened
from orchestration.recovery.target_cluster import require_target
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from orchestration.switchover.switchover import Switchover
from replication.recovery.switchover import SwitchoverOptions

_DEFAULT = SwitchoverOptions()

_Timeout = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="Limit for producers on the source to stop, and then for the copy to complete; "
        "after it everything is undone.",
    ),
]
_Quiet = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="Time without a write to the source before clients are moved."
    ),
]
_DenyWrites = Annotated[
    bool,
    typer.Option(
        "--deny-writes",
        help="Deny all users WRITE on the source topics by ACLs, until the target is open.",
    ),
]
_Tail = Annotated[
    int,
    typer.Option(
        metavar="RECORDS",
        help="Newest records of each partition to compare with their copies; 0: none.",
    ),
]
_Leave = Annotated[
    list[str] | None,
    typer.Option(
        "--leave",
        metavar="GROUP",
        help="A group to leave if its place on the target is not known; '*': all groups. "
        "Without it everything is undone.",
    ),
]
_DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show the steps and what prevents them; change nothing."),
]
_Undo = Annotated[
    bool,
    typer.Option(
        "--undo",
        help="Undo an interrupted switchover; or close the target and resume the flow, if no "
        "client wrote there.",
    ),
]
_Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def switchover(  # noqa: PLR0913 - one parameter per option
    file: File,
    flow: One,
    *,
    timeout: _Timeout = _DEFAULT.timeout_s,
    quiet: _Quiet = _DEFAULT.quiet_s,
    deny_writes: _DenyWrites = False,
    tail: _Tail = _DEFAULT.tail,
    leave: _Leave = None,
    dry_run: _DryRun = False,
    undo: _Undo = False,
    yes: _Yes = False,
    output: Format = Output.TEXT,
) -> None:
    """Move clients to the target: wait for producers, drain, compare, set groups, open the target.

    What fails before the target is open is undone, in reverse order. If it is interrupted, run it
    again: it continues with the options that it was begun with.
    """
    options = SwitchoverOptions(timeout, quiet, deny_writes, tail, frozenset(leave or ()))
    config = read_config(file)
    (found,) = answering_flows(config, [flow])
    clusters = KafkaClusters()
    require_target(found, config, clusters, Launcher(state_directory(), file.absolute()))
    kind = partial(Switchover, options=options)
    with opened(kind, found, config, clusters, progress(output)) as work:
        if undo:
            drop_unread()
            print_line(work.undo(), err=not output.is_text)
            return
        work.refuse_if_open()
        before = work.preview()
        if output.is_text:
            show_plan(f"switchover of {found.name}", work.steps())
            for line in before.lines():
                print_line(line)
        if dry_run:
            print_result(before, output)
            if before.problems:
                end(1, cannot_start(f"switchover of {found.name}", before.problems))
            return
        if not (yes or not output.is_text):
            typer.confirm(f"Switch {found.name} over?", abort=True)
        drop_unread()
        print_result(work.carry_out(), output)
