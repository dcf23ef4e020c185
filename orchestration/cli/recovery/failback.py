"""``isthmus failback``: moves clients back to a source that was lost and has returned."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.flows.flow_options import File, One, named_again
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
from orchestration.failback.failback import Failback
from orchestration.failback.tail_export import new_export_folder
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import answering_flows
from orchestration.recovery.opened_operation import opened
from orchestration.recovery.target_cluster import require_target
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.errors import ConfigError
from replication.recovery.failback import FailbackOptions, TailChoice
from replication.recovery.switchover import SwitchoverOptions

_MOVES = SwitchoverOptions()

_Tail = Annotated[
    TailChoice,
    typer.Option(
        "--tail",
        help="What to do with records that never arrived at the target: merge copies them "
        "there, after what clients wrote; keep leaves them on the source alone; truncate "
        "deletes the source topics that have some, and copies them back from the target.",
    ),
]
_Delete = Annotated[
    list[str] | None,
    typer.Option(
        "--delete",
        metavar="TOPIC",
        help="With --tail truncate: a topic that may be deleted; repeatable. Without it the "
        "command asks; with --yes each must be named.",
    ),
]
_Export = Annotated[
    Path | None,
    typer.Option(
        "--export",
        metavar="DIR",
        help="Directory for the records that never arrived, as Parquet and as JSON lines. "
        "Default: a new one in the state directory.",
    ),
]
_Prepare = Annotated[
    bool,
    typer.Option(
        "--prepare",
        help="Stop before clients have to move; the next failback continues from there.",
    ),
]
_BothSides = Annotated[
    bool,
    typer.Option(
        "--both-sides",
        help="Active-active pair: clients stay on both clusters, and both flows keep running.",
    ),
]
_Timeout = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="Limit for the copy to complete, and for producers to stop."
    ),
]
_Quiet = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="Time without a write to the target before clients are moved."
    ),
]
_DenyWrites = Annotated[
    bool,
    typer.Option("--deny-writes", help="Deny all users WRITE on the target while they move."),
]
_Leave = Annotated[
    list[str] | None,
    typer.Option(
        "--leave",
        metavar="GROUP",
        help="A group to leave if its place on the source is not known; '*': all groups. "
        "Without it the switchover is undone.",
    ),
]
_DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show the steps and the records that never arrived; change nothing."
    ),
]
_Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def failback(  # noqa: PLR0913 - one parameter per option
    file: File,
    flow: One,
    *,
    tail: _Tail = TailChoice.MERGE,
    delete: _Delete = None,
    export: _Export = None,
    prepare: _Prepare = False,
    both_sides: _BothSides = False,
    timeout: _Timeout = _MOVES.timeout_s,
    quiet: _Quiet = _MOVES.quiet_s,
    deny_writes: _DenyWrites = False,
    leave: _Leave = None,
    dry_run: _DryRun = False,
    yes: _Yes = False,
    output: Format = Output.TEXT,
) -> None:
    """Move clients back to the source of a failed-over flow, with the records of both clusters.

    Finds the records that never arrived at the target, writes them to files, merges, keeps or
    truncates them, lets both flows run until they have copied all, and switches over. If it is
    interrupted, run it again: it continues with the options that it was begun with.
    """
    config = read_config(file)
    (found,) = answering_flows(config, [flow])
    clusters = KafkaClusters()
    require_target(found, config, clusters, Launcher(state_directory(), file.absolute()))
    moves = SwitchoverOptions(timeout, quiet, deny_writes, leave=frozenset(leave or ()))
    folder = export.absolute() if export else new_export_folder(state_directory().root, found.name)
    agreed = frozenset(delete or ())
    options = FailbackOptions(tail, str(folder), moves, both_sides, agreed)
    kind = partial(Failback, options=options)
    with opened(kind, found, config, clusters, progress(output)) as work:
        work.refuse_if_open()
        before = work.preview()
        if output.is_text:
            show_plan(f"failback of {found.name}", work.steps())
            for line in before.lines():
                print_line(line)
        if dry_run or before.problems:
            print_result(before, output)
            if before.problems:
                end(1, cannot_start(f"failback of {found.name}", before.problems))
            return
        if not (yes or not output.is_text):
            typer.confirm(f"Fail {found.name} back?", abort=True)
        if missing := [each for each in before.deleted if each not in agreed | work.agreed()]:
            _agree(missing, found.source, may_ask=not yes and output.is_text)
            work.agree_to_delete(missing)
        drop_unread()
        print_result(work.carry_out(prepare=prepare), output)
        if prepare:
            print_line(
                f"clients are still on {found.target}: "
                + ("" if work.options.both_sides else "stop them, then ")
                + f"repeat it: isthmus failback FILE{named_again([found.name])}",
                err=not output.is_text,
            )


def _agree(topics: list[str], source: str, *, may_ask: bool) -> None:
    """Ask for the names of topics that would be deleted. Raises ConfigError where nobody is asked.

    A name that is typed is no habit, as a yes is.
    """
    options = " ".join(f"--delete {each}" for each in topics)
    if not may_ask:
        raise ConfigError(
            f"--tail truncate deletes topics on {source}; to agree, name them: {options}"
        )
    pattern = " ".join(topics)
    typed = typer.prompt(f"To delete these topics on {source}, type their names ({pattern})")
    if sorted(typed.replace(",", " ").split()) != sorted(topics):
        end(1, "the names differ; nothing was changed")
