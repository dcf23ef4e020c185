"""``isthmus status``: shows state, lag and throughput of every flow, from the target's records."""

from __future__ import annotations

import json
import time
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer
from rich.live import Live

from orchestration.cli.flows.table import render
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.flows.clusters import read_config
from orchestration.flows.status_view import FlowView, StatusView, as_data
from orchestration.services.home import home
from orchestration.services.launcher import Launcher
from replication.planning.explain import counted

BETWEEN_S = 1.5  # two looks give a rate; anchors are written once a second


class Output(StrEnum):
    table = "table"
    json = "json"


def status(
    file: Annotated[Path, typer.Argument(help="Properties file with the clusters and flows.")],
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="Output format.")] = Output.table,
) -> None:
    """Show state, lag and throughput of every flow. Exit code 0: all are healthy; 1: some are not.

    Reads the state topics on the target clusters; neither Dagster nor a driver has to run.
    """
    view = StatusView(read_config(file), Launcher(home(), file.absolute()))
    if watch:
        follow(view)
    views = view.look()
    if any(each.topics for each in views):  # others have no rates
        time.sleep(BETWEEN_S)
        views = view.look()
    if output is Output.json:
        typer.echo(json.dumps(as_data(views), indent=2))
    else:
        console().print(render(views))
    problem = unwell(views)
    end(1 if problem else 0, problem)


def follow(view: StatusView) -> None:
    """Show the table until Ctrl-C, which exits without an error."""
    screen = console()
    lines = screen.height if screen.is_terminal else None
    with Live(console=screen, auto_refresh=False) as live:
        while True:
            live.update(render(view.look(), "Ctrl-C exits", lines), refresh=True)
            time.sleep(1)


def unwell(views: tuple[FlowView, ...]) -> str:
    """Return what is not well, in a line; empty: everything is."""
    bad = [each for each in views if not each.health.healthy]
    if not views:
        return "there is no flow"
    reasons = "; ".join(f"{e.name} is {e.health.state}: {e.health.reason}" for e in bad)
    return f"{len(bad)} of {counted(len(views), 'flow')} not healthy: {reasons}" if bad else ""
