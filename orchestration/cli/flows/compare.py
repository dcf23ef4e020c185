"""``isthmus compare``: compares every record of the source with its copy on the target."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from orchestration.cli.flows.compare_report import as_json, lines, sentence, table
from orchestration.cli.flows.flow_options import File, Named  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.flows.comparison.comparison_verdict import (
    ComparisonReport,
    ComparisonRow,
    ComparisonVerdict,
    DeletedSourceTopic,
    NotFound,
    Transformed,
    UncopiedRow,
)
from orchestration.flows.comparison.flow_comparison import FlowComparison
from orchestration.flows.comparison.topic_comparison import Options
from orchestration.flows.reachability import reachable_flows
from replication.config.load import load_config
from replication.errors import ConfigError, ReplicationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_FAILED = 2  # neither equal nor different
_ALL = ".*"


class Isolation(StrEnum):
    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


def compare(  # noqa: PLR0913 - the options of the command
    file: File,
    *,
    flow: Named = None,
    topics: Annotated[
        str,
        typer.Option(
            help="Compare only source topics that this regular expression matches in full."
        ),
    ] = _ALL,
    isolation: Annotated[
        Isolation | None,
        typer.Option(help="Isolation level for reading the source. Default: the flow's."),
    ] = None,
    foreign_ok: Annotated[
        bool,
        typer.Option(
            "--foreign-ok", help="Accept records of other producers in the target topics."
        ),
    ] = False,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Before comparing, wait up to SECONDS until all records now on the source are "
            "copied.",
        ),
    ] = None,
    output: Format = Output.TEXT,
) -> None:
    """Compare every record of source and target: key, value, headers, timestamp and order.

    All of both logs, each time, in this process; `isthmus verify` compares by a Spark job, and
    only what was copied since its last good run.

    What the anchors say is copied must be on the target. Later source records
    that the target does not have yet are in flight: counted, not a difference.
    Where several flows write to one target topic, each flow is compared with
    the records that it copied. Records that retention deleted on one side, and
    those that compaction replaced, are counted apart.

    Exit code 0: what is copied is equal, or the topics are empty on both sides.
    1: there is a difference, a topic or partition that the target does not
    have, a partition whose copying has halted, records that are not copied
    within --wait, or nothing that could be compared.
    2: the comparison failed, because of the file, an option or a cluster.
    """
    try:
        chosen = CompareOptions(
            tuple(flow or ()), _pattern(topics), isolation, foreign_ok=foreign_ok, wait_s=wait
        )
        report = _report(file, chosen)
    except ReplicationError as error:
        end(_FAILED, f"error: {error}")
    if not output.is_text:
        print_data(as_json(report), output)
    else:
        _print(report)
    is_different = report.verdict is ComparisonVerdict.DIFFERENT
    code = _FAILED if report.failed and not is_different else 0 if report.verdict.good else 1
    failures = [f"{flow}: not compared: {why}" for flow, why in report.failed.items()]
    end(code, "\n".join([*failures, sentence(report)]), is_output=output.is_text)


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """The options of the command."""

    flows: tuple[str, ...]
    topics: re.Pattern[str]
    isolation: Isolation | None
    foreign_ok: bool
    wait_s: float | None


def _report(file: Path, chosen: CompareOptions) -> ComparisonReport:
    """Compare flow after flow; what fails for one keeps no other from its comparison.

    Raises ReplicationError where no flow could be compared.
    """
    config = load_config(file).config
    flows, failed = reachable_flows(config, chosen.flows)
    found, last = _FlowResults(), None
    for flow in flows:
        try:
            _add(found, flow, config, chosen)
        except ReplicationError as error:
            failed[flow.name], last = str(error), error
    if last is not None and len(failed) == 1 and not found.rows:
        raise last
    return ComparisonReport(
        found.rows,
        found.not_found,
        found.uncopied,
        found.deleted_topics,
        chosen.foreign_ok,
        found.transformed,
        failed,
    )


@dataclass(slots=True)
class _FlowResults:
    """What was found in the flows that were compared."""

    rows: list[ComparisonRow] = field(default_factory=list)
    not_found: list[NotFound] = field(default_factory=list)
    uncopied: list[UncopiedRow] = field(default_factory=list)
    deleted_topics: list[DeletedSourceTopic] = field(default_factory=list)
    transformed: list[Transformed] = field(default_factory=list)


def _add(found: _FlowResults, flow: Flow, config: Config, chosen: CompareOptions) -> None:
    """Compare one flow, and add what is found."""
    options = Options(chosen.isolation or flow.copying.isolation, foreign_ok=chosen.foreign_ok)
    with FlowComparison(flow, config, chosen.topics, options) as comparison:
        found.deleted_topics += [
            DeletedSourceTopic(flow.name, flow.source, each) for each in comparison.deleted_topics()
        ]
        found.transformed += [Transformed(flow.name, each) for each in comparison.transformed]
        if not comparison.pairs and comparison.transformed:
            return
        if not comparison.pairs:
            found.not_found.append(_nothing_of(flow, chosen))
            return
        if chosen.wait_s is not None:
            found.uncopied += _wait(comparison, chosen.wait_s)
        found.rows += _compare(comparison)


def _nothing_of(flow: Flow, chosen: CompareOptions) -> NotFound:
    limit = "" if chosen.topics.pattern == _ALL else f" and --topics {chosen.topics.pattern}"
    why = (
        f"{flow.source} has no topic that matches the flow's patterns{limit}; list the selected "
        "topics with: isthmus plan FILE"
    )
    return NotFound(flow.name, why, flow.name in chosen.flows)


def _wait(comparison: FlowComparison, limit_s: float) -> list[UncopiedRow]:
    """Wait until what the source holds now is copied; show how much is still to be."""
    name = comparison.flow.name
    with _progress() as progress:
        bar = progress.add_task(f"{name} waiting for records in flight")
        most = 0

        def show(left: int) -> None:
            nonlocal most
            most = max(most, left)
            progress.update(bar, total=most, completed=most - left)

        return [UncopiedRow(name, each) for each in comparison.wait(limit_s, show)]


def _compare(comparison: FlowComparison) -> Iterator[ComparisonRow]:
    flow = comparison.flow
    other_writers = {
        pair.source: tuple(comparison.other_writers(pair)) for pair in comparison.pairs
    }
    with _progress() as progress:
        work = comparison.plan()
        bar = progress.add_task(flow.name, total=sum(each.records for each in work))
        for each in work:
            progress.update(bar, description=f"{flow.name} {each.source}")
            result = comparison.compare(each, lambda n: progress.advance(bar, n))
            yield ComparisonRow(
                flow.name,
                result,
                (flow.source, flow.target),
                other_writers[each.source.topic],
                comparison.positions.skipped(each.source),
            )


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console(stderr=True))


def _pattern(topics: str) -> re.Pattern[str]:
    try:
        return re.compile(topics)
    except re.error as error:
        raise ConfigError(f"--topics {topics!r} is not a regular expression: {error}") from error


def _print(report: ComparisonReport) -> None:
    screen = console()
    if report.rows:
        screen.print(table(report))
    for line in lines(report):
        screen.print(f"  {line}", markup=False)
