"""``isthmus failover``: opens the target for clients after the loss of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.flows.flow_options import File, One, named_again
from orchestration.cli.recovery.procedure_output import print_result, progress, show_plan
from orchestration.cli.screen.given_file import print_line
from orchestration.cli.screen.output import Format, Output
from orchestration.cli.screen.pipes import drop_unread
from orchestration.flows.intents import find_flow
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import Answers
from orchestration.recovery.failover import Failover
from orchestration.recovery.opened_operation import opened
from orchestration.recovery.target_cluster import require_target
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from orchestration.recovery.failover_report import FailoverReport


def failover(  # noqa: PLR0913 - one parameter per option
    file: File,
    flow: One,
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
    output: Format = Output.TEXT,
) -> None:
    """Stop a flow, fence its producers, set the groups' offsets, and open the target for clients.

    Asks the source nothing. If it is interrupted, run it again: it continues where it was.
    """
    config = read_config(file)
    found = find_flow(config, flow)
    reachable = Answers([found]).ask()
    if found.target in reachable.silent:
        line = reachable.line(found.target)
        raise ClusterUnavailable(f"{line}. A failover needs the target: see isthmus doctor FILE")
    clusters = KafkaClusters(reachable.require)
    require_target(found, config, clusters, Launcher(state_directory(), file.absolute()))
    with opened(Failover, found, config, clusters, progress(output)) as work:
        if undo:
            drop_unread()
            print_line(work.undo(), err=not output.is_text)
            return
        work.refuse_if_open()
        before = work.preview()
        if output.is_text:
            _show(work, before, alive=found.source not in reachable.silent)
        if dry_run:
            print_result(before, output)
            return
        if not (yes or not output.is_text):
            typer.confirm(f"Fail {found.name} over?", abort=True)
        drop_unread()
        print_result(work.carry_out(), output)


def _show(work: Failover, before: FailoverReport, *, alive: bool) -> None:
    flow = work.flow
    if alive:
        print_line(
            f"{flow.source} answers: what is produced there from now on is not copied to "
            f"{flow.target}. Stop its producers first, or use: "
            f"isthmus switchover FILE{named_again([flow.name])}"
        )
    show_plan(f"failover of {flow.name}", work.steps())
    print_line("as of the last anchors:")
    for line in before.lines():
        print_line(line)
