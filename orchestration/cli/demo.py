"""``isthmus demo``: what a newcomer sees first. ``make run`` calls it."""

from __future__ import annotations

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
from orchestration.demo import SOURCE, TARGET, Demo
from orchestration.home import home, prepare
from orchestration.panel import Panel
from orchestration.session import Ending, require_stopped
from replication.adapters.java import java


def demo(*, no_ui: NoUi = False, port: Port = None, seconds: Seconds = None) -> None:
    """Start two Kafka clusters, a stream of orders and a flow between them; show it."""
    java()
    where = home()
    prepare(where)
    require_stopped(where)
    staged = Demo(where.root / "demo")
    with Ending(interrupts=True) as ending:
        show = Show(Console(), ending)
        try:
            show.while_waiting(f"starting clusters {SOURCE} and {TARGET}", staged.start_clusters)
            staged.start_traffic()
            ending.interrupts = False
            config = read_config(staged.config)
            session = build_session(config, staged.config, port=port, ui=not no_ui)
            well = operate(session, Panel(config, session.launcher), show, seconds)
        finally:
            ending.interrupts = False
            show.while_waiting("stopping the clusters", staged.stop)
    raise typer.Exit(0 if well else 1)
