"""The verbs of ``isthmus offsets`` that are about consumer groups."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from orchestration.cli.intents import File, Named  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.status import Output
from orchestration.clusters import read_config
from orchestration.group_rows import as_csv, differences, rows_of, wanted_by
from orchestration.intents import find_flow, named_flows
from replication.errors import ClusterRejected, ClusterUnavailable, ConfigError
from replication.groups import CommitGroup, Committed, LeaveGroup, explain_group
from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from orchestration.group_rows import Difference
    from replication.adapters.offset_reader import OffsetReader
    from replication.config.model import Config, Flow
    from replication.group_sync import GroupSync
    from replication.groups import GroupAction

One = Annotated[str, typer.Option("--flow", "-f", help="The flow, such as 'A->B'.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do it; without it the plan is only shown.")]


class Form(StrEnum):
    json = "json"
    csv = "csv"


def _opened(flow: Flow, config: Config) -> AbstractContextManager[tuple[GroupSync, OffsetReader]]:
    from replication.adapters.offset_reader import opened_sync  # noqa: PLC0415 - on first use

    return opened_sync(flow, config)


def diff(
    file: File,
    flow: Named = None,
    *,
    output: Annotated[Output, typer.Option("--output", "-o")] = Output.table,
) -> None:
    """Show what a sync would commit, and the lag of every group on both sides.

    Exit code 2: something would change.
    """
    config = read_config(file)
    found = [line for each in named_flows(config, flow) for line in _differences(each, config)]
    if output is Output.json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=2))
    else:
        Console().print(_table(found) if found else "no selected group has a position")
    if any(each.action == "set" for each in found):
        raise typer.Exit(2)


def pending_groups(config: Config, names: Sequence[str] | None) -> dict[str, list[str]]:
    """Return what a sync of each flow that carries groups over would do, a line a position."""
    pending = {}
    for flow in named_flows(config, names):
        if flow.groups.sync:
            with _opened(flow, config) as (work, _):
                pending[flow.name] = list(_explained(work.plan().actions))
                _require_all(work, flow)
    return pending


def _require_all(work: GroupSync, flow: Flow) -> None:
    """Raise ClusterUnavailable where something was left out of the last look."""
    for quiet in (work.source.away, work.target.away, work.offsets.trouble):
        for why in quiet.values():
            raise ClusterUnavailable(f"{flow.name}: some groups were left out: {why}")


def _differences(flow: Flow, config: Config) -> list[Difference]:
    with _opened(flow, config) as (sync, reader):
        found = sync.plan()
        _require_all(sync, flow)
        listed = sync.target.listed()
        there = {each.group for each in found.moved} & listed.keys()
        now = sync.target.positions(listed[each] for each in there)
        ends = (
            reader.ends({each.source for each in found.moved}, target=False),
            reader.ends({each.target for each in found.moved}, target=True),
        )
        return differences(found, dict(now), ends)


def _table(found: Sequence[Difference]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("group", overflow="fold")
    table.add_column("partition", overflow="fold")
    for name in ("source", "lag", "target", "would be", "lag then"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("action", overflow="fold")
    for each in found:
        numbers = (
            each.source_offset,
            each.source_lag,
            each.target_offset,
            each.translated,
            each.target_lag,
        )
        shown = ("-" if number is None else str(number) for number in numbers)
        table.add_row(each.group, each.partition, *shown, each.action)
    return table


def sync(file: File, flow: Named = None) -> None:
    """Commit the translated positions now, as `sync.group.offsets.enabled` does all the time."""
    config = read_config(file)
    for each in named_flows(config, flow):
        with _opened(each, config) as (work, _):
            typer.echo(f"{each.name}: {work.sync(strict=True)}")


def set_(  # noqa: PLR0913 - one parameter an option
    file: File,
    flow: One,
    group: Annotated[str, typer.Option(help="The consumer group.")],
    topic: Annotated[str | None, typer.Option(help="As the target names it; else all.")] = None,
    *,
    partition: Annotated[int | None, typer.Option(min=0)] = None,
    offset: Annotated[
        int | None, typer.Option(min=0, help="Of the target; else the translated one.")
    ] = None,
    yes: Yes = False,
) -> None:
    """Set a group's positions on the target, also backwards. Shows the plan unless --yes.

    Without --offset they are set to exactly where the group stands at the source.
    """
    config = read_config(file)
    with _opened(find_flow(config, flow), config) as (work, reader):
        if offset is None:
            wanted = work.translated_of(group)
        elif topic is None or partition is None:
            raise ConfigError(
                "--offset needs --topic and --partition: an offset is of one partition"
            )
        else:
            at = TopicPartition(topic, partition)
            wanted = {at: Committed(_within(reader, at, offset))}
        chosen = {
            where: each
            for where, each in wanted.items()
            if topic in {None, where.topic} and partition in {None, where.partition}
        }
        if not chosen:
            raise ConfigError(f"{flow}: group {group} has no position to set there")
        _carry_out(work, {group: chosen}, yes=yes, rewind=True)


def _within(reader: OffsetReader, at: TopicPartition, offset: int) -> int:
    reader.look()
    if reader.known.source_of(at) is None:
        raise ConfigError(f"{reader.flow.name} copies nothing to {at} of {reader.flow.target}")
    start, end = reader.ends([at], target=True)[at]
    if not start <= offset <= end:
        raise ConfigError(
            f"{at} of {reader.flow.target} holds offsets {start} to {end}, not {offset}"
        )
    return offset


def _carry_out(
    work: GroupSync,
    wanted: Mapping[str, Mapping[TopicPartition, Committed]],
    *,
    yes: bool,
    rewind: bool,
) -> None:
    """Show the plan, and carry it out if ``yes``. Raises ClusterRejected for what is refused."""
    actions = work.towards(wanted, rewind=rewind)
    for line in _explained(actions):
        typer.echo(line)
    if not actions:
        typer.echo("nothing to do: the groups stand there already")
    commits = [each for each in actions if isinstance(each, CommitGroup)]
    if yes and commits:
        refused = work.target.commit(commits)
        if refused:
            raise ClusterRejected("; ".join(f"group {g}: {why}" for g, why in refused.items()))
        typer.echo("done")
    elif commits:
        typer.echo("nothing was changed: --yes carries it out")
    if yes and any(isinstance(each, LeaveGroup) for each in actions):
        raise typer.Exit(1)


def _explained(actions: Sequence[GroupAction]) -> Iterator[str]:
    return (line for each in actions for line in explain_group(each))


def export(
    file: File,
    flow: Named = None,
    *,
    output: Annotated[Form, typer.Option("--output", "-o")] = Form.json,
) -> None:
    """Print every group's position on the source and its translation, as JSON or CSV."""
    config = read_config(file)
    rows = []
    for each in named_flows(config, flow):
        with _opened(each, config) as (work, _):
            rows += rows_of(each.name, work.moved())
            _require_all(work, each)
    if output is Form.json:
        typer.echo(json.dumps([asdict(each) for each in rows], indent=2))
    else:
        typer.echo(as_csv(rows), nl=False)


def import_(
    file: File,
    data: Annotated[Path, typer.Argument(help="What `isthmus offsets export` printed.")],
    flow: One,
    *,
    rewind: Annotated[bool, typer.Option("--rewind", help="Move groups backwards too.")] = False,
    yes: Yes = False,
) -> None:
    """Set the target positions that an export holds. Shows the plan unless --yes."""
    config = read_config(file)
    try:
        text = data.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{data} cannot be read: {error}") from error
    wanted = wanted_by(text, flow, str(data))
    with _opened(find_flow(config, flow), config) as (work, _):
        _carry_out(work, wanted, yes=yes, rewind=rewind)


COMMANDS: dict[str, Callable[..., None]] = {
    "diff": diff,
    "sync": sync,
    "set": set_,
    "export": export,
    "import": import_,
}
