"""``isthmus failback``: moves clients back to a source that was lost and has returned."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer

from orchestration.cli.flows.intents import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.flows.status import Output
from orchestration.cli.recovery.procedure_output import print_result, progress, show_plan
from orchestration.cli.screen.errors import end
from orchestration.failback.failback import Failback
from orchestration.failback.tail_export import new_export_folder
from orchestration.flows.answers import answering_flows
from orchestration.flows.clusters import KafkaClusters, read_config
from orchestration.recovery.flow_operation import opened
from orchestration.recovery.target_cluster import require_target
from orchestration.services.home import home
from orchestration.services.launcher import Launcher
from replication.recovery.failback import FailbackOptions, TailChoice
from replication.recovery.switchover import SwitchoverOptions

_MOVES = SwitchoverOptions()


def failback(  # noqa: PLR0913 - one parameter per option
    file: File,
    flow: Annotated[
        str,
        typer.Option("--flow", "-f", help="Name of the flow that was failed over, such as 'A->B'."),
    ],
    *,
    tail: Annotated[
        TailChoice,
        typer.Option(
            "--tail",
            help="What becomes of records that never arrived at the target: merge copies them "
            "there, behind what clients wrote; keep leaves them on the source alone.",
        ),
    ] = TailChoice.MERGE,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="DIR",
            help="Where the tail is written, as Parquet and as JSON lines; default: a new "
            "directory in the state directory.",
        ),
    ] = None,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="End before clients have to move; the next failback goes on from there.",
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="How long the copy is waited for, and producers to stop."
        ),
    ] = _MOVES.timeout_s,
    quiet: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="For so long nobody may have written to the target."),
    ] = _MOVES.quiet_s,
    deny_writes: Annotated[
        bool,
        typer.Option("--deny-writes", help="Deny everybody WRITE on the target while they move."),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the steps and the tail; change nothing."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="Output format.")] = Output.table,
) -> None:
    """Bring clients back to the source of a failed-over flow, with all that either side has.

    Finds the records that never arrived at the target, writes them to files, merges or keeps them,
    lets both flows run until they have copied all, and switches over. If it is interrupted, run it
    again: it continues where it was, with the options that it was begun with.
    """
    config = read_config(file)
    (found,) = answering_flows(config, [flow])
    json_only, clusters = output is Output.json, KafkaClusters()
    require_target(found, config, clusters, Launcher(home(), file.absolute()))
    moves = SwitchoverOptions(timeout, quiet, deny_writes)
    folder = export.absolute() if export else new_export_folder(home().root, found.name)
    with opened(Failback, found, config, clusters, progress(json_only=json_only)) as work:
        work.options = FailbackOptions(tail, str(folder), moves)
        work.refuse_if_open()
        before = work.preview()
        if not json_only:
            show_plan(f"failback of {found.name}", work.steps())
            for line in before.lines():
                typer.echo(line)
        if dry_run or before.problems:
            print_result(before, json_only=json_only)
            if before.problems:
                end(1, "it would not begin, see above")
            return
        if not (yes or json_only):
            typer.confirm(f"Fail {found.name} back?", abort=True)
        print_result(work.carry_out(prepare=prepare), json_only=json_only)
        if prepare:
            typer.echo(
                f"clients are still on {found.target}: stop them, then run isthmus failback again",
                err=json_only,
            )
