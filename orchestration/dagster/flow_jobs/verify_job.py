"""What a run of a verification does in Dagster: as the command, with the figures as metadata."""

import re
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import dagster as dg
from pydantic import Field

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.chosen_flow import ChosenFlow, chosen, table
from orchestration.dagster.flow_jobs.spark_in_run import SparkInRun, SparkResource
from orchestration.dagster.resources import IsthmusResource
from orchestration.flows.reachability import answering_flows
from orchestration.verification.flow_verification import FlowVerification
from orchestration.verification.outcome import PartitionOutcome, VerificationOutcome
from orchestration.verification.partition_plan import Selected
from orchestration.verification.report_files import reports_directory, store_report
from orchestration.verification.transform_process import TransformProcess
from orchestration.verification.verification_report import lines, sentence, speed_line
from replication.errors import ConfigError

VERIFY = "verify"
_ALL = ".*"
_LINES = 50  # of partitions, in the log; the report has all
_LOG_EVERY_S = 30.0  # between two lines on how far a run is


class WhichVerification(dg.Config):
    topics: str = Field(
        default=_ALL,
        description="Verify only source topics that this regular expression matches in full.",
    )
    full: bool = Field(default=False, description="Also compare what an earlier run has verified.")
    sample: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description=(
            "Share of the ranges to compare, chosen at random. Of a run with less than 1 "
            "nothing is stored as verified."
        ),
    )


@dg.op(
    description="Compare what a flow copied with its source, with Spark.",
    out=dg.Out(dg.Nothing),
)
def compare_ranges(
    context: dg.OpExecutionContext,
    config: WhichVerification,
    isthmus: IsthmusResource,
    isthmus_spark: SparkResource,
) -> Iterator[dg.AssetObservation | dg.Output[None]]:
    """Verify the flow, and store the report. Raises Failure with the result if it is not good.

    A generator: what an op logs as an event before it fails is lost.
    """
    with chosen(context, isthmus) as run:
        (flow,) = answering_flows(run.config, (run.flow.name,))
        verification = FlowVerification(
            flow,
            run.config,
            _pattern(config.topics),
            Selected(config.full, sample=config.sample, seed=time.time_ns()),
            SparkInRun(run.config, isthmus_spark),
            TransformProcess(run.config),
            Progress(context),
            config.topics == _ALL,
        )
        found = verification.run()
        yield from _log_result(context, found, _stored(run, found))


class Progress:
    """Logs what a run does, and now and then how far it is."""

    def __init__(self, context: dg.OpExecutionContext) -> None:
        self._context = context
        self._doing, self._logged_s = "", 0.0

    def __call__(self, doing: str, done: int, of: int) -> None:
        now_s = time.monotonic()
        if doing != self._doing or now_s - self._logged_s > _LOG_EVERY_S:
            self._context.log.info("%s: %d of %d", doing, done, of)
            self._doing, self._logged_s = doing, now_s


def _pattern(topics: str) -> re.Pattern[str]:
    try:
        return re.compile(topics)
    except re.error as error:
        raise ConfigError(f"topics {topics!r} is not a regular expression: {error}") from error


def _stored(run: ChosenFlow, found: VerificationOutcome) -> Path:
    settings = run.config.verification
    directory = reports_directory(settings, run.isthmus.launcher().state_directory)
    return store_report(found, directory, settings.reports_kept)


def _log_result(
    context: dg.OpExecutionContext, found: VerificationOutcome, page: Path
) -> Iterator[dg.AssetObservation | dg.Output[None]]:
    """Log the result; yield it as metadata of the flow's stream and of the output.

    Raises Failure if it is not good.
    """
    result_lines = [*lines(found)]
    more = (
        [f"and {len(result_lines) - _LINES:,} more lines: see the report"]
        if result_lines[_LINES:]
        else []
    )
    for line in chain(result_lines[:_LINES], more, (speed_line(found), f"report: {page}")):
        context.log.info(line)
    result = f"{found.flow}: {sentence(found)}"
    figures = dict(_metadata(found, page))
    yield dg.AssetObservation(
        stream_key(found.flow), description=f"{context.job_name}: {result}", metadata=figures
    )
    if not found.verdict.good:
        raise dg.Failure(
            "\n".join([result, *result_lines[:_LINES], *more]),
            metadata=figures,
            allow_retries=False,
        )
    context.log.info(result)
    yield dg.Output(None, metadata=figures)


def _metadata(found: VerificationOutcome, page: Path) -> Iterator[tuple[str, dg.MetadataValue]]:
    """Yield the figures, which Dagster plots over time, how far all is equal, and the files."""
    yield "result", dg.MetadataValue.text(found.verdict.value)
    yield "records", dg.MetadataValue.int(found.records)
    yield "differences", dg.MetadataValue.int(found.differences)
    for kind, count in found.counts.items():
        yield kind, dg.MetadataValue.int(count)
    yield "GB per minute and core", dg.MetadataValue.float(found.speed.gb_per_minute_and_core)
    worst = sorted(found.partitions, key=_rank)
    if worst:
        yield "verified up to", table([_row(each, found) for each in worst])
    yield "report (html)", dg.MetadataValue.path(str(page))
    yield "report (json)", dg.MetadataValue.path(str(page.with_suffix(".json")))


def _rank(each: PartitionOutcome) -> tuple[int, bool, str]:
    """Return where a partition comes in the table: differences first, then what is not verified."""
    return (-each.differences, not each.not_verified, each.source)


def _row(each: PartitionOutcome, found: VerificationOutcome) -> dict[str, str]:
    """Return up to where a partition was verified, by this run or by one before."""
    place = each.end
    if each.differences or found.partial:
        place = each.begin
    known = not each.not_verified and (place is each.end or each.continues)
    return {
        "partition": each.source,
        "source offset": str(place.source) if known else "",
        "on target": each.target,
        "target offset": str(place.target) if known and not each.transformed else "",
        "records": str(each.records),
        "differences": str(each.differences),
        "remark": "; ".join(filter(None, (each.not_verified, *each.remarks))),
    }
