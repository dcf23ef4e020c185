"""``isthmus offsets sync, set, export, import``: offsets of consumer groups."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.flows.flow_options import (
    All,
    Chosen,
    File,
    Named,
    One,
    chosen_flows,
)
from orchestration.cli.positions.group_differences import (
    diff,
    explained,
    opened_sync,
    require_all,
)
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import print_line
from orchestration.cli.screen.output import print_data
from orchestration.flows.group_rows import as_csv, desired_by, rows_of
from orchestration.flows.intents import find_flow
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.names import require_name
from orchestration.flows.reachability import (
    answering_flows,
    left_on_failure,
    reachable_flows,
    require_none_left,
)
from orchestration.flows.target_offsets import existing, left_of
from replication.config.file.input_file import read_input
from replication.errors import ClusterRejected, ConfigError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import CommitGroup, Committed, left_alone
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from replication.adapters.offset_reader import OffsetReader
    from replication.offsets.groups.consumer_groups import LeaveOffset
    from replication.offsets.groups.group_sync import GroupSync

Yes = Annotated[
    bool, typer.Option("--yes", help="Carry out the plan; without --yes it is only shown.")
]


_LARGEST_EXPORT = 256 << 20  # bytes: of ten thousand groups with thousands of partitions


class Form(StrEnum):
    json = "json"
    csv = "csv"


def sync(file: File, flow: Chosen = None, *, all_: All = False) -> None:
    """Commit the translated offsets of all groups to the target once.

    `sync.group.offsets.enabled = true` does this continuously.
    """
    config = read_config(file)
    flows, left = reachable_flows(config, chosen_flows(config, flow, all_=all_))
    for each in flows:
        with left_on_failure(left, each.name), opened_sync(each, config) as (work, _):
            print_line(f"{each.name}: {work.sync(strict=True)}")
    require_none_left(left)


def set_(  # noqa: PLR0913 - one parameter per option
    file: File,
    flow: One,
    group: Annotated[str, typer.Option(help="Name of the consumer group.")],
    topic: Annotated[
        str | None, typer.Option(help="Topic name on the target. Default: all topics.")
    ] = None,
    *,
    partition: Annotated[
        int | None, typer.Option(min=0, help="Partition number. Default: all partitions.")
    ] = None,
    offset: Annotated[
        int | None,
        typer.Option(min=0, help="Offset on the target. Default: the translated offset."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Set a group's offsets on the target, backwards too. Without --yes it shows the plan.

    Without --offset they become the translations of the group's offsets on the source.
    """
    if offset is not None and (topic is None or partition is None):
        raise ConfigError("--offset applies to one partition: give --topic and --partition too")
    config = read_config(file)
    (found,) = answering_flows(config, [flow])
    with opened_sync(found, config) as (work, reader):
        if offset is not None:
            at = TopicPartition(str(topic), int(partition or 0))
            desired = {at: Committed(_within(reader, at, offset))}
            _carry_out(work, {group: desired}, [], yes=yes, rewind=True)
            return
        require_name("group", group, work.source.listed(), f"{flow}, cluster {found.source}")
        translated = work.translated_of(group)
        places = [each.target for each in translated]
        _require_partitions(places, topic, partition, f"{flow}, offsets of group {group}")
        chosen = [
            each
            for each in translated
            if topic in {None, each.target.topic} and partition in {None, each.target.partition}
        ]
        if not chosen:
            raise ConfigError(f"{flow}: group {group} has no committed offset for these partitions")
        desired = work.desired(chosen).positions.get(group, {})
        _carry_out(work, {group: desired}, left_of(chosen, desired), yes=yes, rewind=True)


def _require_partitions(
    desired: Iterable[TopicPartition], topic: str | None, partition: int | None, where: str
) -> None:
    """Raise ConfigError for a topic or partition that is not among ``desired``."""
    known = sorted(desired)
    if topic is not None and known:
        require_name("topic", topic, [each.topic for each in known], where)
    if partition is not None and known:
        numbers = [each.partition for each in known if topic in {None, each.topic}]
        require_name("partition", partition, numbers, where)


def _within(reader: OffsetReader, at: TopicPartition, offset: int) -> int:
    """Return ``offset``. Raises ConfigError if it cannot be set there."""
    known = reader.look()
    copies = {TopicPartition(e.target_topic, e.partition) for e in known.anchors.values()}
    _require_partitions(copies, *at, f"{reader.flow.name}, copies on {reader.flow.target}")
    log = reader.target_logs([at])[at]
    if isinstance(log, str):
        raise ConfigError(f"{at} on {reader.flow.target}: offset {offset} {log}")
    if not log.start <= offset <= log.end:
        raise ConfigError(
            f"offset {offset} is out of range: {at} on {reader.flow.target} has {log.start} to "
            f"{log.end}"
        )
    return offset


def _carry_out(
    work: GroupSync,
    desired: Mapping[str, Mapping[TopicPartition, Committed]],
    left: Sequence[LeaveOffset],
    *,
    yes: bool,
    rewind: bool,
) -> None:
    """Show the plan, and carry it out if ``yes``. Raises ClusterRejected for refused commits.

    ``left``: offsets that cannot be set. Exit code 1 if something is left that was to be set.
    """
    actions = (*work.towards(desired, rewind=rewind), *left)
    for line in explained(actions):
        print_line(line)
    if not actions and any(desired.values()):
        print_line("no change: the groups have these offsets already")
    elif not actions:
        print_line("no change: there is no offset to set on the target")
    commits = [each for each in actions if isinstance(each, CommitGroup)]
    if yes and commits:
        refused = work.target.commit(commits)
        if refused:
            raise ClusterRejected("; ".join(f"group {g}: {why}" for g, why in refused.items()))
        print_line("done")
    elif commits:
        print_line("nothing was changed: run it again with --yes")
    if (yes or not commits) and len(commits) < len(actions):
        not_set = left_alone(actions)
        count, first = counted(len(not_set), "position"), not_set[0]
        end(1, f"{count} not set, the first of group {first.group}: {first.reason}")


def export(
    file: File,
    flow: Named = None,
    *,
    output: Annotated[Form, typer.Option("--output", "-o", help="Output format.")] = Form.json,
) -> None:
    """Print the committed offsets of all groups on the source and their translations."""
    config = read_config(file)
    rows = []
    for each in answering_flows(config, flow):
        with opened_sync(each, config) as (work, _):
            rows += rows_of(each.name, work.translated())
            require_all(work, each)
    if output is Form.json:
        print_data([asdict(each) for each in rows], output)
    else:
        typer.echo(as_csv(rows), nl=False)


def import_(
    file: File,
    data: Annotated[Path, typer.Argument(help="File with the output of `isthmus offsets export`.")],
    flow: One,
    *,
    rewind: Annotated[
        bool, typer.Option("--rewind", help="Also move groups to lower offsets.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Set the target offsets of an exported file. Without --yes it shows the plan.

    Leaves offsets that do not exist on the target, and names them. Exit code 1: some were left.
    """
    config = read_config(file)
    try:
        text = read_input(data, _LARGEST_EXPORT).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"reading {data}: {why}") from error
    find_flow(config, flow)
    desired = desired_by(text, flow, str(data))
    (found,) = answering_flows(config, [flow])
    with opened_sync(found, config) as (work, reader):
        reader.look()
        logs = reader.target_logs({where for each in desired.values() for where in each})
        there, left = existing(desired, logs)
        _carry_out(work, there, left, yes=yes, rewind=rewind)


COMMANDS: dict[str, Callable[..., None]] = {
    "diff": diff,
    "sync": sync,
    "set": set_,
    "export": export,
    "import": import_,
}
