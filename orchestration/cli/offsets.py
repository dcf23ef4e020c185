"""``isthmus offsets``: positions on one side of a flow as positions on the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli import group_offsets
from orchestration.cli.group_offsets import One  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.intents import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.status import Output
from orchestration.clusters import read_config
from orchestration.intents import find_flow
from replication.errors import ClusterUnavailable, ConfigError
from replication.model import TopicPartition

if TYPE_CHECKING:
    from replication.config.model import Flow
    from replication.flow_offsets import Known

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback()
def offsets() -> None:
    """Translate offsets, and carry the positions of consumer groups over."""


@app.command()
def translate(  # noqa: PLR0913 - one parameter an option
    file: File,
    flow: One,
    topic: Annotated[str, typer.Option(help="As the cluster that is asked about names it.")],
    offset: Annotated[int, typer.Option(min=0, help="An offset of that partition.")],
    partition: Annotated[int, typer.Option(min=0)] = 0,
    *,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The topic and offset are the target's.")
    ] = False,
    output: Annotated[Output, typer.Option("--output", "-o")] = Output.table,
) -> None:
    """Say which offset of the copy holds the same record, or with --reverse which of the source.

    Exit code 1: that record is not copied yet, or its place is not known.
    """
    from replication.adapters.offset_reader import OffsetReader  # noqa: PLC0415 - on first use

    found = find_flow(read_config(file), flow)
    asked, reader = TopicPartition(topic, partition), OffsetReader(found)
    try:
        source = _source(found, reader.look(), asked, reverse=reverse)
        answers = reader.translate({source: [offset]}, back=reverse)
        if source not in answers:
            raise ClusterUnavailable(reader.trouble.get(source, f"{source} gave no answer"))
        answer = answers[source][offset]
        anchor = reader.known.anchors[source]
    finally:
        reader.close()
    target = TopicPartition(anchor.target_topic, source.partition)
    here, there = (target, source) if reverse else (source, target)
    data = {
        "flow": found.name,
        "topic": here.topic,
        "partition": partition,
        "offset": offset,
        "translated": {"topic": there.topic, "offset": answer.offset, "exact": answer.exact},
    }
    typer.echo(json.dumps(data) if output is Output.json else _sentence(data, anchor.source))
    if answer.offset is None:
        raise typer.Exit(1)


def _sentence(data: dict[str, object], copied: int | None) -> str:
    there = data["translated"]
    assert isinstance(there, dict)  # noqa: S101 - for the type checker
    said = f"{data['topic']}-{data['partition']} offset {data['offset']}"
    if there["offset"] is None and not there["exact"]:
        return f"{said} was copied before the flow took over: where it stands is not known"
    if there["offset"] is None:
        return f"{said} is not copied yet: the flow has copied the offsets below {copied}"
    about = "" if there["exact"] else " at least (compaction took what would have to be counted)"
    return f"{said} is {there['topic']}-{data['partition']} offset {there['offset']}{about}"


def _source(flow: Flow, known: Known, asked: TopicPartition, *, reverse: bool) -> TopicPartition:
    """Return the source partition that ``asked`` is, or is a copy of. Raises ConfigError."""
    source = known.source_of(asked) if reverse else asked
    if source in known.anchors and known.anchors[source].source is not None:
        return source
    where = flow.target if reverse else flow.source
    anchors = known.anchors.values()
    topics = sorted({each.target_topic if reverse else each.topic for each in anchors})
    if not topics:
        raise ConfigError(f"{flow.name} has copied nothing yet, so no offset of it is known")
    if asked.topic not in topics:
        names = ", ".join(topics[:10]) + (", …" if len(topics) > 10 else "")
        verb = "copies nothing to" if reverse else "copies no"
        raise ConfigError(f"{flow.name} {verb} topic {asked.topic} of {where}; it knows {names}")
    raise ConfigError(f"{flow.name} has copied nothing of {asked} of {where}")


for name, command in group_offsets.COMMANDS.items():
    app.command(name)(command)
