"""``isthmus failover``: opens the target for clients after the loss of a source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.flows.intents import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.flows.status import Output
from orchestration.cli.screen.errors import end
from orchestration.flows.answers import Answers
from orchestration.flows.clusters import KafkaClusters, read_config
from orchestration.flows.intents import find_flow
from orchestration.recovery.failover import opened_failover
from orchestration.recovery.target_cluster import require_target
from orchestration.services.home import home
from orchestration.services.launcher import Launcher
from replication.recovery.procedure import failover_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestration.recovery.report import FailoverReport
    from replication.settings.sections import Flow


def failover(  # noqa: PLR0913 - one parameter per option
    file: File,
    flow: Annotated[str, typer.Option("--flow", "-f", help="Name of the flow, such as 'A->B'.")],
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the steps and what may be missing; change nothing."),
    ] = False,
    undo: Annotated[
        bool,
        typer.Option(
            "--undo", help="Close the target and resume the flow, if no client wrote there."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="Output format.")] = Output.table,
) -> None:
    """Stop a flow, fence its producers, set the groups' offsets, and open the target for clients.

    Asks the source nothing. If it is interrupted, run it again: it continues where it was.
    """
    config = read_config(file)
    found = find_flow(config, flow)
    reachable = Answers([found]).ask()
    reachable.require(found.target)
    json_only, clusters = output is Output.json, KafkaClusters()
    require_target(found, config, clusters, Launcher(home(), file.absolute()))
    with opened_failover(found, config, clusters, _say(quiet=json_only)) as work:
        if undo:
            typer.echo(work.undo(), err=json_only)
            return
        work.refuse_if_open()
        before = work.preview()
        if not json_only:
            _show_plan(found, before, alive=found.source not in reachable.silent)
        if dry_run:
            _print_result(before, json_only=json_only)
            return
        if not (yes or json_only):
            typer.confirm(f"Fail {found.name} over?", abort=True)
        _print_result(work.carry_out(), json_only=json_only)


def _say(*, quiet: bool) -> Callable[[str], None]:
    """Return what prints progress: on stderr when the output is JSON."""
    return lambda line: typer.echo(line, err=quiet)


def _show_plan(flow: Flow, before: FailoverReport, *, alive: bool) -> None:
    if alive:
        typer.echo(
            f"{flow.source} answers: what is produced there from now on is not copied to "
            f"{flow.target}. Stop its producers first"
        )
    typer.echo(f"failover of {flow.name}:")
    for number, step in enumerate(failover_steps(flow.name, flow.target), 1):
        typer.echo(f"  {number}. {step.name}: {step.does}")
    typer.echo("as of the last anchors:")
    for line in before.lines():
        typer.echo(line)


def _print_result(report: FailoverReport, *, json_only: bool) -> None:
    if json_only:
        typer.echo(json.dumps(report.as_json(), indent=2))
    elif report.operation is None:
        typer.echo("nothing was changed")
    else:
        for line in report.lines():
            typer.echo(line)
    if report.operation is not None and report.left:
        end(1, f"the target is open; {len(report.left)} group positions were left, see above")
