"""``isthmus compare``: compares every record of the source with its copy on the target."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - Typer reads the annotation at run time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from orchestration.cli.flows.compare_report import Row, as_json, examples, is_equal, table, verdict
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.flows.answers import answering_flows
from orchestration.flows.comparison import Options, TopicComparer, TopicPair
from orchestration.flows.own_records import OwnRecords
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.config.load import load_config
from replication.errors import ConfigError, ReplicationError
from replication.naming.policy import policy_for
from replication.naming.selection import TopicSelector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replication.settings.sections import Config, Flow

_FAILED = 2  # neither equal nor different


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


class Isolation(StrEnum):
    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


def compare(  # noqa: PLR0913 - the options of the command
    file: Annotated[Path, typer.Argument(help="Properties file with the clusters and flows.")],
    *,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            "-f",
            help="Name of a flow, such as 'A->B'; may be repeated. Default: all flows.",
        ),
    ] = None,
    topics: Annotated[
        str,
        typer.Option(
            help="Compare only source topics that this regular expression matches in full."
        ),
    ] = ".*",
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
    output: Annotated[Output, typer.Option("--output", "-o", help="Output format.")] = Output.TABLE,
) -> None:
    """Compare every record of source and target: key, value, headers, timestamp and order.

    The target is read with isolation level read_uncommitted. Where several flows write to one
    target topic, each flow is compared with the records that it copied. Exit code 0: equal; 1:
    different; 2: the comparison failed.
    """
    try:
        rows = _rows(file, flow or [], _pattern(topics), isolation, foreign_ok=foreign_ok)
    except ReplicationError as error:
        end(_FAILED, f"error: {error}")
    if output is Output.JSON:
        typer.echo(json.dumps(as_json(rows, foreign_ok=foreign_ok)))
    else:
        _print(rows)
    code = 0 if is_equal(rows, foreign_ok=foreign_ok) else 1
    end(code, verdict(rows, foreign_ok=foreign_ok), is_output=output is not Output.JSON)


def _rows(
    file: Path,
    names: Sequence[str],
    topics: re.Pattern[str],
    isolation: Isolation | None,
    *,
    foreign_ok: bool,
) -> list[Row]:
    config = load_config(file).config
    rows = []
    for flow in answering_flows(config, names):
        options = Options(isolation or flow.copying.isolation, foreign_ok=foreign_ok)
        pairs = [pair for pair in _pairs(config, flow) if topics.fullmatch(pair.source)]
        rows += list(_compare_flow(flow, pairs, options, config))
    if not rows:
        raise ConfigError(
            f"{file}: no topic matches; list the selected topics with: isthmus plan {file}"
        )
    return rows


def _pairs(config: Config, flow: Flow) -> list[TopicPair]:
    """Return the flow's topics that exist now, with their names on the target."""
    present = KafkaAdmin(to_librdkafka(flow.clients.source_admin)).topics()
    policy = policy_for(flow, config.clusters)
    selected = TopicSelector.for_flow(flow, config.clusters).selected(sorted(present))
    return [TopicPair(topic, policy.remote_topic(flow.source, topic)) for topic in selected]


def _compare_flow(
    flow: Flow, pairs: Sequence[TopicPair], options: Options, config: Config
) -> Iterator[Row]:
    comparer = TopicComparer(
        to_librdkafka(flow.clients.source_consumer),
        to_librdkafka(flow.clients.target_admin),
        options,
        OwnRecords.for_flow(flow, config),
    )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    try:
        with Progress(*columns, TimeElapsedColumn(), console=console(stderr=True)) as progress:
            work = comparer.plan(pairs)
            bar = progress.add_task(flow.name, total=sum(each.records for each in work))
            for each in work:
                progress.update(bar, description=f"{flow.name} {each.source}")
                yield Row(flow.name, comparer.compare(each, lambda n: progress.advance(bar, n)))
    finally:
        comparer.close()


def _pattern(topics: str) -> re.Pattern[str]:
    try:
        return re.compile(topics)
    except re.error as error:
        raise ConfigError(f"--topics {topics!r} is not a regular expression: {error}") from error


def _print(rows: Sequence[Row]) -> None:
    screen = console()
    screen.print(table(rows))
    for line in examples(rows):
        screen.print(f"  {line}", markup=False)
