"""``isthmus offsets``: translates offsets of a flow's source to its target, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.flows.flow_options import File, One  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.positions import group_offsets
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.names import require_name
from orchestration.flows.reachability import answering_flows
from replication.errors import ClusterUnavailable, ConfigError
from replication.model import TopicPartition

if TYPE_CHECKING:
    from replication.offsets.known_points import KnownPoints
    from replication.offsets.offset_map import Answer
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,  # `isthmus completion` does
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def offsets() -> None:
    """Translate offsets between source and target; compare and set those of consumer groups."""


@app.command()
def translate(  # noqa: PLR0913 - one parameter an option
    file: File,
    flow: One,
    topic: Annotated[
        str, typer.Option(help="Topic name on the source, or on the target with --reverse.")
    ],
    offset: Annotated[int, typer.Option(min=0, help="Offset in that partition.")],
    partition: Annotated[int, typer.Option(min=0, help="Partition number.")] = 0,
    *,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Translate from the target to the source.")
    ] = False,
    output: Format = Output.TEXT,
) -> None:
    """Print the target offset of a record on the source, or the reverse with --reverse.

    Exit code 1: the record is not copied yet, there is no such offset, or its place is unknown.
    """
    from replication.adapters.offset_reader import OffsetReader  # noqa: PLC0415 - on first use

    (found,) = answering_flows(read_config(file), [flow])
    named, reader = TopicPartition(topic, partition), OffsetReader(found)
    try:
        source = _source(found, reader.look(), named, reverse=reverse)
        answers = reader.translate({source: [offset]}, back=reverse)
        if source not in answers:
            raise ClusterUnavailable(
                str(reader.errors.get(source, f"translating an offset of {source}: no answer"))
            )
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
        "problem": answer.problem,
    }
    sentence = f"{here} offset {offset} {_predicate(answer, there, _late(offset, anchor, reverse))}"
    if not output.is_text:
        print_data(data, output)
    end(1 if answer.offset is None else 0, sentence, is_output=output.is_text)


def _late(offset: int, anchor: Anchor, reverse: bool) -> str:  # noqa: FBT001 - the option
    """Return why an offset has no translation yet, the predicate of a sentence about it."""
    if reverse:
        return (
            "is after the first record of an open transaction on the target: try again when the "
            "transaction has ended"
        )
    if anchor.source is None or offset >= anchor.source:
        return f"is not copied yet: the flow has copied offsets below {anchor.source}"
    return (
        "is not copied yet, or not readable: the source has lost the record that was copied there, "
        f"or a transaction is open on the target in {anchor.target_topic}-{anchor.partition}"
    )


def _predicate(answer: Answer, there: TopicPartition, late: str) -> str:
    if answer.offset is None:
        return answer.problem or late
    about = "" if answer.exact else " or later: not all records before it can be counted"
    return f"is {there} offset {answer.offset}{about}"


def _source(
    flow: Flow, known: KnownPoints, named: TopicPartition, *, reverse: bool
) -> TopicPartition:
    """Return the source partition that ``named`` is, or is a copy of. Raises ConfigError."""
    source = known.source_of(named) if reverse else named
    if source in known.anchors and known.anchors[source].source is not None:
        return source
    where = flow.target if reverse else flow.source
    anchors = known.anchors.values()
    topics = sorted({each.target_topic if reverse else each.topic for each in anchors})
    if not topics:
        raise ConfigError(
            f"{flow.name} has not copied any record yet, so no offset can be translated"
        )
    copied = f"{flow.name}, copies on {where}" if reverse else f"{flow.name}, copied from {where}"
    require_name("topic", named.topic, topics, copied)
    numbers = known.partitions_of(named.topic, target=reverse)
    require_name("partition", named.partition, numbers, f"{copied}, topic {named.topic}")
    raise ConfigError(f"{flow.name} has not copied {named} on {where}")


for name, command in group_offsets.COMMANDS.items():
    app.command(name)(command)
