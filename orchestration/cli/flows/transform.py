"""``isthmus transform``: shows real records before and after their transform."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestration.cli.flows.flow_options import File, Named  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.transform_preview import preview
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orchestration.flows.transform_preview import Previewed
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_MOST = 80  # characters of a key, a value or a header


def transform(
    file: File,
    topic: Annotated[str, typer.Option("--topic", "-t", help="Topic of the source.")],
    flow: Named = None,
    count: Annotated[
        int, typer.Option("--preview", min=1, max=1000, help="Number of the newest records.")
    ] = 10,
    *,
    output: Format = Output.TEXT,
) -> None:
    """Show the newest records of a topic before and after its transform; nothing is written.

    Exit code 1: a record cannot be transformed, or the topic has no records.
    2: the file, its SQL or its function is wrong.
    """
    config = read_config(file)
    found = preview(config, _flow(config, flow), topic, count)
    if not output.is_text:
        print_data([asdict(each) for each in found], output)
    for each in found if output.is_text else ():
        for line in _lines(each):
            typer.echo(line)
    problems = sum(bool(each.problem) for each in found)
    kept = sum(bool(each.after) for each in found)
    written = sum(len(each.after) for each in found)
    summary = (
        f"{len(found)} records: {kept} kept, {written} written, {problems} cannot be transformed"
    )
    end(1 if problems or not found else 0, summary, is_output=output.is_text)


def _flow(config: Config, names: list[str] | None) -> Flow:
    named = [each for each in config.flows if not names or each.name in names]
    if len(named) != 1:
        known = ", ".join(each.name for each in config.flows)
        raise ConfigError(f"{config.path}: name one of its flows with --flow: {known}")
    return named[0]


def _lines(record: Previewed) -> Iterator[str]:
    yield f"partition {record.partition} offset {record.offset}"
    yield f"  before  {_shown(record.before)}"
    for each in record.after:
        yield f"  after   {each['topic']}-{each['partition']}  {_shown(each)}"
    if record.problem:
        yield f"  problem {record.problem}"
    elif not record.after:
        yield "  left out"


def _shown(members: Mapping[str, Any]) -> str:
    headers = " ".join(f"{name}={_short(each)}" for name, each in members["headers"])
    text = f"key={_short(members['key'])} value={_short(members['value'])}"
    return f"{text} {headers}".rstrip()


def _short(text: str | None) -> str:
    if text is None:
        return "(null)"
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
