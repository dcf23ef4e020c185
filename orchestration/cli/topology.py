"""``isthmus topology``: the flows of a file as a picture, and what topics are called where."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestration.cli.intents import File  # noqa: TC001 - Typer reads the annotations
from orchestration.clusters import read_config
from orchestration.drawing.mermaid import mermaid
from replication.errors import ReplicationError
from replication.topology import drawn, with_topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from replication.config.model import Config
    from replication.planning import TargetPlan
    from replication.topology import Edge, Topology


class Picture(StrEnum):
    """How the topology is written."""

    TEXT = "text"
    MERMAID = "mermaid"
    JSON = "json"


def topology(
    file: File,
    *,
    topics: Annotated[
        bool, typer.Option("--topics", help="Ask the clusters, and show every topic.")
    ] = False,
    output: Annotated[Picture, typer.Option("--output", "-o")] = Picture.TEXT,
) -> None:
    """Draw which topics go from where to where, under which names; where they merge and circle.

    Works from the file alone. Exit code 1: with --topics a cluster did not answer.
    """
    config = read_config(file)
    found = drawn(config)
    if topics:
        plans, silent = _plans(config)
        found = with_topics(found, plans, silent)
    match output:
        case Picture.MERMAID:
            typer.echo(mermaid(found), nl=False)
        case Picture.JSON:
            typer.echo(json.dumps(as_data(found), indent=2))
        case Picture.TEXT:
            _print(found, asked=topics)
    raise typer.Exit(1 if found.problems else 0)


def as_data(found: Topology) -> dict[str, Any]:
    """Return the topology for other programs."""
    return {
        "clusters": {alias: list(servers) for alias, servers in found.clusters.items()},
        "flows": [
            {**asdict(edge), "topics": [topic._asdict() for topic in edge.topics]}
            for edge in found.edges
        ],
        "merges": [asdict(each) for each in found.merges],
        "circles": [list(each) for each in found.circles],
        "refused": [
            {"kind": each.kind, "topic": each.target, "reason": each.reason}
            for each in found.conflicts
        ],
        "problems": list(found.problems),
    }


def _plans(config: Config) -> tuple[list[TargetPlan], tuple[str, ...]]:
    """Return what the clusters show, a plan a target, and which targets did not answer."""
    from replication.adapters.clients import KafkaClients  # noqa: PLC0415 - only with --topics
    from replication.planning import Planner  # noqa: PLC0415 - as above

    planner = Planner(config, KafkaClients(), frozenset())
    plans, silent = [], []
    for target in dict.fromkeys(flow.target for flow in config.flows):
        try:
            plans.append(planner.plan(target))
        except ReplicationError as error:
            silent.append(f"{target}: {error}")
    return plans, tuple(silent)


def _print(found: Topology, *, asked: bool) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text("Clusters", style="bold"))
    wide = max(map(len, found.clusters), default=0)
    for alias, servers in found.clusters.items():
        console.print(Text(f"  {alias:<{wide}}  {', '.join(servers)}"))
    console.print(Text("Flows", style="bold"))
    console.print(_flows(found.edges))
    for title, lines in (("Merges", _merges(found)), ("Circles", _circles(found))):
        if told := list(lines):
            console.print(Text(title, style="bold"))
            for line in told:
                console.print(Text(f"  {line}"))
    for edge in found.edges:
        _print_topics(console, edge, asked=asked)
    for conflict in found.conflicts:
        console.print(Text(f"not copied: {conflict}", style="yellow"))
    for problem in found.problems:
        console.print(Text(problem, style="bold red"))


def _flows(edges: Iterable[Edge]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 2), header_style="dim")
    for name in ("from", "", "to", "topics", "topic t becomes"):
        table.add_column(name, overflow="fold")
    for edge in edges:
        arrow = "──◌──▶" if edge.circles else "─────▶"
        cells = (edge.source, arrow, edge.target, ", ".join(edge.selection), edge.names)
        table.add_row(*map(Text, cells))
    return table


def _merges(found: Topology) -> Iterator[str]:
    for each in found.merges:
        what = each.topic or "topics of the same name"
        yield f"{what} on {each.target} ◀─ {', '.join(each.sources)}"


def _circles(found: Topology) -> Iterator[str]:
    for each in found.circles:
        yield f"{' → '.join(each)}: names are kept; copies are told apart and do not come home"


def _print_topics(console: Console, edge: Edge, *, asked: bool) -> None:
    copied = [each for each in edge.topics if not each.left_out]
    left_out = [each for each in edge.topics if each.left_out]
    if asked or edge.topics:
        console.print(Text(f"Topics of {edge.flow}", style="bold"))
    if copied:
        table = Table(box=None, padding=(0, 1, 0, 2), header_style="dim")
        for name in (f"on {edge.source}", f"on {edge.target}", "there"):
            table.add_column(name, overflow="fold")
        for each in copied:
            there = {None: "", True: "yes", False: "no"}[each.there]
            table.add_row(Text(each.topic), Text(each.target), there)
        console.print(table)
    for each in left_out:
        console.print(Text(f"  not copied: {each.topic}: {each.left_out}", style="dim"))
    if edge.gap:
        console.print(Text(f"  {edge.gap}", style="yellow"))
