"""``isthmus verify``: compares what flows copied with their sources, by a bounded Spark job."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from orchestration.cli.flows.flow_options import File, Named  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.flows.reachability import reachable_flows
from orchestration.services.state_directory import state_directory
from orchestration.verification.flow_verification import FlowVerification
from orchestration.verification.outcome import EXIT_CANNOT, Speed, VerificationOutcome
from orchestration.verification.partition_plan import Selected
from orchestration.verification.report_files import reports_directory, store_report
from orchestration.verification.spark_process import SparkProcess
from orchestration.verification.transform_process import TransformProcess
from orchestration.verification.verification_report import as_json, lines, sentence, speed_line
from replication.clock import now_ms
from replication.config.file.values import start
from replication.config.load import load_config
from replication.errors import ConfigError, ReplicationError

if TYPE_CHECKING:
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_ALL = ".*"


def verify(  # noqa: PLR0913 - the options of the command
    file: File,
    *,
    flow: Named = None,
    topics: Annotated[
        str,
        typer.Option(
            help="Verify only source topics that this regular expression matches in full."
        ),
    ] = _ALL,
    since: Annotated[
        str | None,
        typer.Option(
            help="Only ranges with records from this time on: 2026-05-01T08:00:00Z, or ms."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only ranges with records before this time.")
    ] = None,
    sample: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of the ranges to compare, chosen at random."),
    ] = 1.0,
    full: Annotated[
        bool,
        typer.Option("--full", help="Also compare what an earlier run has verified."),
    ] = False,
    output: Format = Output.TEXT,
) -> None:
    """Compare the sources of flows and their copies with Spark, record by record.

    What was copied since the last good run, with --full all; `isthmus compare` compares
    all each time, in its own process, without Spark.

    A bounded Spark job compares key, value, headers, timestamp and order of all
    records up to the anchors, range by range. Ranges that differ are then
    compared record by record. Records in flight, deleted by retention, or skipped
    by a decision do not count as differences. Reports are stored as HTML and JSON.

    Exit code 0: equal, or all that is copied was verified before.
    1: there is a difference.
    2: no verdict: nothing, or not all, could be compared, or the
    command failed, because of the file, an option, a cluster or Spark.
    What fails for one flow keeps no other from its comparison.
    """
    try:
        config = load_config(file).config
        selected = Selected(full, _moment("--since", since), _moment("--until", until), sample,
                            time.time_ns())  # fmt: skip
        pattern = _pattern(topics)
        flows, unreached = reachable_flows(config, tuple(flow or ()))
    except ReplicationError as error:
        end(EXIT_CANNOT, f"error: {error}")
    found = [_verified(each, config, pattern, selected) for each in flows]
    unstored = [problem for each in found if (problem := _reported(each, config, output))]
    found += [_failed(name, why) for name, why in unreached.items()]
    if not output.is_text:
        print_data([as_json(each) for each in found], output)
    codes = [*(each.verdict.exit_code for each in found), *(EXIT_CANNOT for _ in unstored)]
    last = [*unstored, *(f"{each.flow}: {sentence(each)}" for each in found)]
    end(max(codes, key=_SEVERITY.index), "\n".join(last), is_output=output.is_text)


_SEVERITY = (0, 2, 1)  # a difference in one flow says more than that another could not be compared


def _verified(
    flow: Flow, config: Config, pattern: re.Pattern[str], selected: Selected
) -> VerificationOutcome:
    """Verify one flow; what fails is its outcome, so that what others have is shown."""
    try:
        return _compared(flow, config, pattern, selected)
    except ReplicationError as error:
        return _failed(flow.name, str(error))


def _failed(flow: str, why: str) -> VerificationOutcome:
    return VerificationOutcome(flow, now_ms(), (), Speed(0, 0.0, 0, 0.0), left=why, failed=True)


def _compared(
    flow: Flow, config: Config, pattern: re.Pattern[str], selected: Selected
) -> VerificationOutcome:
    with _progress() as progress:
        bar = progress.add_task(flow.name, total=None)

        def show(doing: str, done: int, of: int) -> None:
            progress.update(bar, description=f"{flow.name} {doing}", completed=done, total=of)

        run = FlowVerification(
            flow,
            config,
            pattern,
            selected,
            SparkProcess(config),
            TransformProcess(config),
            show,
            pattern.pattern == _ALL,
        )
        return run.run()


def _reported(found: VerificationOutcome, config: Config, output: Output) -> str:
    """Store the report of a comparison, and show what it found; return why it is not stored."""
    settings, problem = config.verification, ""
    if found.failed:
        return problem
    shown = [*lines(found), speed_line(found)]
    try:
        directory = reports_directory(settings, state_directory())
        shown.append(f"report: {store_report(found, directory, settings.reports_kept)}")
    except ReplicationError as error:
        problem = f"{found.flow}: {error}"
    if output.is_text:
        for line in shown:
            console().print(f"  {line}", markup=False, soft_wrap=True)
    return problem


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console(stderr=True))


def _pattern(topics: str) -> re.Pattern[str]:
    try:
        return re.compile(topics)
    except re.error as error:
        raise ConfigError(f"--topics {topics!r} is not a regular expression: {error}") from error


def _moment(option: str, text: str | None) -> int | None:
    """Return a moment in ms. Raises ConfigError."""
    if text is None:
        return None
    try:
        return int(start(text))
    except ValueError:
        raise ConfigError(
            f"{option} {text!r} is not a time: write 2026-05-01T08:00:00Z, or milliseconds since "
            "1970"
        ) from None
