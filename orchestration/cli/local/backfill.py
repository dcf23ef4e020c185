"""``isthmus backfill``: copies the history of topics that a stream began to copy later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.backfill.backfill import EARLIEST, Backfill, history_selection
from orchestration.backfill.backfill_report import plan_data, plan_lines, plan_sentence
from orchestration.backfill.file_backfill import FileBackfill
from orchestration.backfill.file_plan import file_data, file_lines, file_sentence
from orchestration.cli.flows.flow_options import File, One  # noqa: TC001 - Typer reads them
from orchestration.cli.local.batch import as_data, run_bar
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import in_shell
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.reachability import answering_flows
from orchestration.services.state_directory import state_directory
from replication.adapters.local.java import java
from replication.adapters.local.pyspark_home import pyspark_home
from replication.config.backfill_file import Budget
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestration.backfill.backfill import HistorySelection
    from orchestration.backfill.file_plan import FilePart

_ALL = ".*"

_Topics = Annotated[
    str,
    typer.Option(help="Only source topics that this regular expression matches in full."),
]
_From = Annotated[
    str,
    typer.Option(
        "--from", help="earliest, a time (2026-05-01T08:00:00Z) or a source offset (1200)."
    ),
]
_BytesPerSecond = Annotated[
    int, typer.Option(min=0, help="Byte budget of all units together; 0: no limit.")
]
_FromFiles = Annotated[
    str | None,
    typer.Option(
        "--from-files",
        help="Append records from Parquet files or JSON lines below this path or URL, "
        "instead of those on the source.",
    ),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan; write nothing.")]


def backfill(  # noqa: PLR0913 - the options of the command
    file: File,
    flow: One,
    *,
    topics: _Topics = _ALL,
    begin: _From = EARLIEST,
    bytes_per_second: _BytesPerSecond = 0,
    from_files: _FromFiles = None,
    dry_run: _DryRun = False,
    output: Format = Output.TEXT,
) -> None:
    """Copy the source records from before the first record that a flow copied.

    The flow may keep running. Each earlier record is copied once, in order,
    after what the flow has copied by then. The same command continues a run
    that was interrupted. With --from-files the records come
    from files, each with its source offset. Memory and task slots: jobs.memory
    and jobs.cores.

    Exit code 0: all was copied, or --dry-run; 1: not all, and the last line
    says why.
    """
    config = read_config(file)
    selection = history_selection(topics, begin)
    (found,) = answering_flows(config, [flow])
    jobs = config.jobs
    work = Backfill(
        found, config, state_directory(), Budget(jobs.cores, jobs.memory_bytes, bytes_per_second)
    )
    if from_files is not None:
        _append_files(FileBackfill(work, from_files), selection, output, dry_run=dry_run)
        return
    plan = work.plan(selection)
    screen = console()
    if output.is_text:
        for line in plan_lines(plan):
            screen.print(line, markup=False)
        screen.print(plan_sentence(plan), markup=False)
    if dry_run:
        if not output.is_text:
            print_data({"flow": found.name, "plan": plan_data(plan)}, output)
        end(0, "")
    java()
    pyspark_home()
    with run_bar(found.name, sum(each.left for each in plan)) as show:
        result = work.carry_out(plan, show)
    if not output.is_text:
        print_data({"flow": found.name, "plan": plan_data(plan), "run": as_data(result)}, output)
    else:
        screen.print(f"compare it: isthmus compare {in_shell(work.file)}", markup=False)
    end(1 if result.problem else 0, result.sentence, is_output=output.is_text)


def _append_files(
    work: FileBackfill, selection: HistorySelection, output: Output, *, dry_run: bool
) -> None:
    """Carry out a backfill from files, and end the command."""
    if selection.begin != EARLIEST:
        raise ConfigError("--from is of a backfill from the source: leave it out with --from-files")
    java()
    pyspark_home()
    screen = console()
    plan: list[FilePart] = []

    def planned(parts: Sequence[FilePart]) -> None:
        plan.extend(parts)
        if output.is_text:
            for line in (*file_lines(parts, work.backfill.flow.name), file_sentence(parts)):
                screen.print(line, markup=False, soft_wrap=True)

    with run_bar(work.backfill.flow.name) as show:
        result = work.run(selection.topics, planned, show, dry_run=dry_run)
    if not output.is_text:
        data = {"flow": work.backfill.flow.name, "plan": file_data(plan)}
        run = {"records": result.records, "seconds": result.seconds} if result else None
        print_data(data if run is None else {**data, "run": run}, output)
    end(0, result.sentence if result else "", is_output=output.is_text)
