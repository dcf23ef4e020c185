"""``isthmus demo``: what a newcomer sees first. ``make run`` calls it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from orchestration.cli.live import Show
from orchestration.cli.run import (
    NoUi,
    Port,
    Seconds,
    build_session,
    operate,
)
from orchestration.clusters import read_config
from orchestration.demo import demo_of
from orchestration.home import home, prepare
from orchestration.panel import Panel
from orchestration.scenarios import SCENARIOS, scenario
from orchestration.session import Ending, require_stopped
from replication.adapters.java import java

Played = Annotated[str, typer.Argument(help=f"One of {', '.join(SCENARIOS)}.")]


def demo(
    name: Played = "copy", *, no_ui: NoUi = False, port: Port = None, seconds: Seconds = None
) -> None:
    """Start Kafka clusters, streams of orders and flows between them; show it."""
    played = scenario(name)
    java()
    where = home()
    prepare(where)
    require_stopped(where)
    staged = demo_of(where.root, played)
    with Ending(interrupts=True) as ending:
        show = Show(Console(), ending)
        try:
            show.while_waiting(
                f"starting clusters {', '.join(played.clusters)}", staged.start_clusters
            )
            staged.start_traffic()
            ending.interrupts = False
            config = read_config(staged.config)
            session = build_session(config, staged.config, port=port, ui=not no_ui)
            well = operate(session, Panel(config, session.launcher), show, seconds)
        finally:
            ending.interrupts = False
            show.while_waiting("stopping the clusters", staged.stop)
    raise typer.Exit(0 if well else 1)
