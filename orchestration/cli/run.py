"""``isthmus run``: a configuration file, Dagster in charge of it, and a live table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestration.cli.live import Show
from orchestration.cli.status import all_well
from orchestration.clusters import read_config
from orchestration.demo import demo_of
from orchestration.home import home
from orchestration.launcher import Launcher
from orchestration.panel import Panel
from orchestration.scenarios import SCENARIOS
from orchestration.session import Ending, Session
from replication.adapters.java import java
from replication.supervision import Application, applications

if TYPE_CHECKING:
    from replication.config.model import Config

START_PATIENCE_S = (
    180.0  # only with --seconds; a person may look at the reason as long as they like
)

NoUi = Annotated[bool, typer.Option("--no-ui", help="Do not start Dagster's web UI.")]
Port = Annotated[int | None, typer.Option(help="Port of the UI; else the first free from 3000.")]
Seconds = Annotated[
    float | None, typer.Option(help="End by itself so long after the flows came up.")
]


def run(
    file: Annotated[Path, typer.Argument(help="Properties file with clusters and flows.")],
    *,
    no_ui: NoUi = False,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Leave all running.")] = False,
    port: Port = None,
    seconds: Seconds = None,
) -> None:
    """Run the flows of FILE with Dagster in charge, and show them until Ctrl-C ends everything."""
    config = read_config(file)
    java()
    session = build_session(config, file, port=port, ui=not no_ui)
    with Ending() as ending:
        show = Show(Console(), ending)
        well = operate(session, Panel(config, session.launcher), show, seconds, detach=detach)
    raise typer.Exit(0 if well else 1)


def down() -> None:
    """End all that `isthmus run` started from this state directory. What is wanted stays."""
    where = home()
    for each in SCENARIOS.values():
        demo_of(where.root, each).stop()
    names = [each.name for each in (where.root / "apps").glob("*")]
    Session(Launcher(where, Path()), tuple(Application(n, n, ()) for n in names)).stop()


def build_session(config: Config, file: Path, *, port: int | None, ui: bool) -> Session:
    return Session(Launcher(home(), file.absolute()), applications(config), port, ui)


def operate(
    session: Session, panel: Panel, show: Show, seconds: float | None, *, detach: bool = False
) -> bool:
    """Start the session, show it until ``ending`` or for ``seconds``, and stop it.

    Returns whether all was well at the end, or whether a person ended it.
    """
    session.start()
    ending, leave = show.ending, False
    try:
        show.while_waiting("starting Dagster", lambda: session.wait_for_ui(ending))
        if session.ui:
            show.note = f"Dagster: {session.address}"
            show.console.print(show.note)
        views = show.until_up(panel, START_PATIENCE_S if seconds is not None else None)
        leave = detach and not ending
        if leave:
            show.console.print("left running; `isthmus down` ends it")
        elif not ending:
            views = show.until_over(panel, seconds)
        return bool(ending) or all_well(views)
    finally:
        if not leave:
            show.while_waiting("stopping", session.stop)
