"""What a run of a backfill does in Dagster: the command's work, logged as it goes on."""

from collections.abc import Iterator, Sequence
from enum import Enum

import dagster as dg
from pydantic import Field

from orchestration.backfill.backfill import EARLIEST, Backfill, HistorySelection, history_selection
from orchestration.backfill.backfill_report import plan_lines, plan_sentence
from orchestration.backfill.file_backfill import FileBackfill
from orchestration.backfill.file_plan import FilePart, file_lines, file_sentence
from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.batch_job import RunProgressLog, run_metadata
from orchestration.dagster.flow_jobs.chosen_flow import chosen
from orchestration.dagster.resources import IsthmusResource
from replication.config.backfill_file import Budget

BACKFILL = "backfill"


class BackfillAction(Enum):
    """What a run of a backfill does."""

    PLAN = "plan"
    CARRY_OUT = "carry out"


class WhichBackfill(dg.Config):
    action: BackfillAction = Field(
        default=BackfillAction.PLAN,
        description=(
            "PLAN: show which offsets of which partitions, and write nothing. CARRY_OUT: copy the "
            "source records from before the flow's first copied record, and append them after what "
            "the flow has copied; another run continues one that was interrupted."
        ),
    )
    topics: str = Field(
        default=".*",
        description="Only source topics that this regular expression matches in full.",
    )
    begin: str = Field(
        default=EARLIEST,
        description="earliest, a time (2026-05-01T08:00:00Z) or a source offset (1200).",
    )
    from_files: str = Field(
        default="",
        description="A path or URL: append records from Parquet files or JSON lines below it, each "
        "with its source offset, instead of those on the source.",
    )
    bytes_per_second: int = Field(
        default=0, ge=0, description="Byte budget of all units together; 0: no limit."
    )


@dg.op(
    description="Copy the source records from before a flow's first copied record.",
    out=dg.Out(dg.Nothing),
)
def copy_history(
    context: dg.OpExecutionContext, config: WhichBackfill, isthmus: IsthmusResource
) -> Iterator[dg.AssetObservation | dg.Output[None]]:
    """Plan, and by ``config.action`` copy. Raises Failure if not all was copied.

    A generator: what an op logs as an event before it fails is lost.
    """
    with chosen(context, isthmus) as run:
        jobs = run.config.jobs
        budget = Budget(jobs.cores, jobs.memory_bytes, config.bytes_per_second)
        work = Backfill(run.flow, run.config, isthmus.launcher().state_directory, budget)
        selection = history_selection(config.topics, config.begin)
        if config.from_files:
            files = FileBackfill(work, config.from_files)
            yield from _append_files(context, files, selection, config.action)
            return
        plan = work.plan(selection)
        for line in (*plan_lines(plan), plan_sentence(plan)):
            context.log.info(line)
        if config.action is BackfillAction.PLAN:
            yield dg.Output(None, metadata={"plan": plan_sentence(plan)})
            return
        found = work.carry_out(plan, RunProgressLog(context))
    figures = dict(run_metadata(found))
    yield dg.AssetObservation(
        stream_key(run.flow.name), description=f"backfill: {found.sentence}", metadata=figures
    )
    context.log.info(found.sentence)
    if found.problem:
        raise dg.Failure(found.sentence, metadata=figures, allow_retries=False)
    yield dg.Output(None, metadata=figures)


def _append_files(
    context: dg.OpExecutionContext,
    files: FileBackfill,
    selection: HistorySelection,
    action: BackfillAction,
) -> Iterator[dg.AssetObservation | dg.Output[None]]:
    """Append what files have, or by ``action`` only say what they have."""
    lines: list[str] = []

    def planned(parts: Sequence[FilePart]) -> None:
        lines.append(file_sentence(parts))
        for line in (*file_lines(parts, files.backfill.flow.name), *lines):
            context.log.info(line)

    dry_run = action is BackfillAction.PLAN
    found = files.run(selection.topics, planned, RunProgressLog(context), dry_run=dry_run)
    figures: dict[str, dg.MetadataValue] = {"plan": dg.MetadataValue.text("; ".join(lines))}
    if found is not None:
        figures["records"] = dg.MetadataValue.int(found.records)
        context.log.info(found.sentence)
        key = stream_key(files.backfill.flow.name)
        yield dg.AssetObservation(key, description=f"backfill: {found.sentence}", metadata=figures)
    yield dg.Output(None, metadata=figures)
