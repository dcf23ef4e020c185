"""``isthmus topology``: draws the flows of a file, with the topic names on each target."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from orchestration.cli.configuration.mermaid import mermaid
from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import print_data
from orchestration.cli.screen.text_table import Column, TextTable
from orchestration.flows.kafka_clients import read_config
from replication.naming.topology import drawn
from replication.planning.live_topology import with_topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from replication.naming.topology import Edge, Topology
    from replication.planning.planner import TargetPlan
    from replication.settings.config import Config


class Picture(StrEnum):
    """The output format."""

    TEXT = "text"
    MERMAID = "mermaid"
    JSON = "json"
    YAML = "yaml"


def topology(
    file: File,
    *,
    topics: Annotated[
        bool, typer.Option("--topics", help="Connect to the clusters and show every topic.")
    ] = False,
    output: Annotated[
        Picture, typer.Option("--output", "-o", help="Output format.")
    ] = Picture.TEXT,
) -> None:
    """Show clusters, flows and target topic names; where topics merge, and replication cycles.

    Reads only the file unless --topics is given. Exit code 1: a cluster did not answer.
    """
    config = read_config(file)
    found = drawn(config)
    if topics:
        found = with_topics(found, _plans(config))
    match output:
        case Picture.MERMAID:
            typer.echo(mermaid(found), nl=False)
        case Picture.JSON | Picture.YAML:
            print_data(as_data(found), output)
        case Picture.TEXT:
            _print(found, connected=topics)
    if found.problems and output is not Picture.TEXT:
        end(1, "; ".join(found.problems))
    if found.problems:
        end(1, found.problems[-1], is_output=True)


def as_data(found: Topology) -> dict[str, Any]:
    """Return the topology for other programs."""
    return {
        "clusters": {alias: list(servers) for alias, servers in found.clusters.items()},
        "flows": [
            {**asdict(edge), "topics": [topic._asdict() for topic in edge.topics]}
            for edge in found.edges
        ],
        "merges": [asdict(each) for each in found.merges],
        "circles": [list(each) for each in found.cycles],
        "refused": [
            {"kind": each.kind, "topic": each.target, "reason": each.reason}
            for each in found.conflicts
        ],
        "problems": list(found.problems),
    }


def _plans(config: Config) -> list[TargetPlan]:
    """Return one plan per target, read from the clusters."""
    from orchestration.flows.plans import target_plans  # noqa: PLC0415 - only with --topics

    names = [each.name for each in config.flows]
    return [plan for plan, _ in target_plans(config, names, frozenset())]


def _print(found: Topology, *, connected: bool) -> None:
    screen = console()
    screen.print(Text("Clusters", style="bold"))
    wide = max(map(len, found.clusters), default=0)
    for alias, servers in found.clusters.items():
        screen.print(Text(f"  {alias:<{wide}}  {', '.join(servers)}"))
    screen.print(Text("Flows", style="bold"))
    screen.print(_flows(found.edges))
    for title, lines in (("Merges", _merges(found)), ("Replication cycles", _circles(found))):
        if shown := list(lines):
            screen.print(Text(title, style="bold"))
            for line in shown:
                screen.print(Text(f"  {line}"))
    for edge in found.edges:
        _print_topics(screen, edge, connected=connected)
    for conflict in found.conflicts:
        screen.print(Text(f"not copied: {conflict}", style="yellow"))
    for problem in found.problems[:-1]:  # the last one ends the command
        screen.print(Text(problem, style="bold red"))


def _flows(edges: Iterable[Edge]) -> TextTable:
    headers = ("  source", "", "target", "topics", "topic t becomes")
    table = TextTable([*map(Column, headers)])
    for edge in edges:
        arrow = "──◌──▶" if edge.cycles else "─────▶"
        topics = ", ".join(edge.selection)
        table.add(f"  {edge.source}", arrow, edge.target, topics, edge.names)
    return table


def _merges(found: Topology) -> Iterator[str]:
    for each in found.merges:
        what = each.topic or "topics of the same name"
        yield f"{what} on {each.target} ◀─ {', '.join(each.sources)}"


def _circles(found: Topology) -> Iterator[str]:
    for each in found.cycles:
        yield f"{' → '.join(each)}: topic names are kept; copies are not replicated back"


def _print_topics(screen: Console, edge: Edge, *, connected: bool) -> None:
    copied = [each for each in edge.topics if not each.left_out]
    left_out = [each for each in edge.topics if each.left_out]
    if connected or edge.topics:
        screen.print(Text(f"Topics of {edge.flow}", style="bold"))
    if copied:
        headers = (f"  on {edge.source}", f"on {edge.target}", "exists")
        table = TextTable([*map(Column, headers)])
        for each in copied:
            there = {None: "", True: "yes", False: "no"}[each.there]
            table.add(f"  {each.topic}", each.target, there)
        screen.print(table)
    for each in left_out:
        screen.print(Text(f"  not copied: {each.topic}: {each.left_out}", style="dim"))
    if edge.gap:
        screen.print(Text(f"  {edge.gap}", style="yellow"))
