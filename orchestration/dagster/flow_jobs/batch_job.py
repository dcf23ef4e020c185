"""What a run of a batch flow does in Dagster: the command's work, with the ranges as metadata."""

import time
from collections.abc import Iterator

import dagster as dg

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.chosen_flow import TABLE_ROWS, chosen, table
from orchestration.dagster.resources import IsthmusResource
from orchestration.flows.batch_run import BatchRunner, RunOutcome, RunProgress
from replication.model import Desired

BATCH = "batch"
_LOG_EVERY_S = 30.0  # between two lines on how far a run is


@dg.op(
    description="Copy what the source of a batch flow has now, and end.",
    out=dg.Out(dg.Nothing),
)
def copy_what_is_there(
    context: dg.OpExecutionContext, isthmus: IsthmusResource
) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
    """Run the flow once; its stream is materialized. Raises Failure if not all was copied.

    A flow that somebody paused or stopped is left alone.

    A generator: what an op logs as an event before it fails is lost.
    """
    with chosen(context, isthmus) as run:
        look = run.look()
        if look is not None and look.seen.desired is not Desired.RUN:
            context.log.info("%s: %s", run.flow.name, look.health.reason)
            yield dg.Output(None, metadata={"skipped": look.health.reason})
            return
        log_progress = RunProgressLog(context)
        work = BatchRunner(
            run.flow, run.application, isthmus.clusters(), isthmus.launcher(), log_progress
        )
        found = work.run()
    figures = dict(run_metadata(found))
    yield dg.AssetMaterialization(
        stream_key(found.flow), description=found.sentence, metadata=figures
    )
    context.log.info(found.sentence)
    if found.problem:
        raise dg.Failure(found.sentence, metadata=figures, allow_retries=False)
    yield dg.Output(None, metadata=figures)


class RunProgressLog:
    """Logs now and then how far a run is."""

    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._context = context
        self._state, self._logged_s = "", 0.0

    def __call__(self, now: RunProgress) -> None:
        now_s = time.monotonic()
        if now.state != self._state or now_s - self._logged_s > _LOG_EVERY_S:
            self._state, self._logged_s = now.state, now_s
            left = f"{now.left:,} left" if now.left else "nothing known left to copy"
            self._context.log.info("%s: %s records copied, %s", now.state, f"{now.records:,}", left)


def run_metadata(found: RunOutcome) -> Iterator[tuple[str, dg.MetadataValue]]:
    """Yield the figures, which Dagster plots over time, and the ranges, largest first."""
    yield "records", dg.MetadataValue.int(found.records)
    yield "seconds", dg.MetadataValue.float(round(found.seconds, 1))
    yield "partitions", dg.MetadataValue.int(len(found.ranges))
    if found.problem:
        yield "problem", dg.MetadataValue.text(found.problem)
    rows = [
        {
            "partition": str(each.partition),
            "from offset": "its first" if each.begin is None else str(each.begin),
            "to offset": str(each.end),
            "records": str(each.records),
            "on target": each.target,
        }
        for each in sorted(found.ranges, key=lambda each: -each.records)[:TABLE_ROWS]
    ]
    if rows:
        yield "offset ranges", table(rows)
