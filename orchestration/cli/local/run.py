"""``isthmus run`` and ``down``: starts Dagster and a file's flows with a live table; stops all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestration.alerts.channel_findings import channel_findings
from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.flows.status import unwell
from orchestration.cli.local.live import Show
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.demo.demo_clusters import Demo, demo_of
from orchestration.demo.scenarios import SCENARIOS
from orchestration.flows.status_view import StatusView
from orchestration.services.launcher import Launcher
from orchestration.services.local_ports import HOST
from orchestration.services.local_session import Ending, LocalSession
from orchestration.services.running_here import applications_in, running_here, with_own
from orchestration.services.state_directory import HOME_VARIABLE, StateDirectory, state_directory
from replication.adapters.followed_file import FollowedFile
from replication.adapters.local.java import java
from replication.adapters.local.pyspark_home import pyspark_home
from replication.config.announcement import pattern_line
from replication.config.load import load_config
from replication.errors import ReplicationError
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from replication.config.load import Loaded
    from replication.settings.config import Config

START_LIMIT_S = 180.0  # only with --seconds; else the command waits until it is interrupted

NoUi = Annotated[bool, typer.Option("--no-ui", help="Do not start Dagster's web UI.")]
Port = Annotated[
    int | None, typer.Option(help="Port of Dagster's UI. Default: the first free one from 3000.")
]
Host = Annotated[
    str,
    typer.Option(
        help="Listen address of Dagster's UI, which has no login; 0.0.0.0: all addresses."
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(help="Exit this many seconds after all flows are running. Default: run on."),
]


def run(  # noqa: PLR0913 - its options
    file: File,
    *,
    no_ui: NoUi = False,
    detach: Annotated[
        bool,
        typer.Option("--detach", "-d", help="Exit when all flows are running; leave them running."),
    ] = False,
    host: Host = HOST,
    port: Port = None,
    seconds: Seconds = None,
) -> None:
    """Start Dagster and the Spark applications of FILE's flows, and show the flows.

    Ctrl-C stops all of it.
    """
    loaded = load_config(file)
    config = loaded.config
    announce(loaded, console())
    java()
    pyspark_home()
    session = build_session(config, file, host=host, port=port, ui=not no_ui)
    with Ending() as ending:
        show = Show(console(), ending)
        followed = FollowedFile(file, state_directory().root, keeps=False)
        view = StatusView(config, session.launcher, file=followed)
        problem = operate(session, view, show, seconds, detach=detach)
    end(1 if problem else 0, problem)


def announce(loaded: Loaded, screen: Console) -> None:
    """Show the warnings about the file, and the patterns that are in effect."""
    for warning in (*loaded.config.warnings, *map(str, channel_findings(loaded))):
        screen.print(Text("warning ", style="yellow") + Text(warning), soft_wrap=False)
    for flow in loaded.config.flows:
        screen.print(Text(pattern_line(flow)), soft_wrap=False)


def down() -> None:
    """Stop everything that `isthmus run` or `isthmus demo` started from this state directory.

    Also drivers that a drill or backfill left. Paused and stopped flows stay so at the next
    start. Exit code 1: something still runs.
    """
    where, problems = state_directory(), []
    demos = [demo_of(where.root, each) for each in SCENARIOS.values()]
    before = _running(where, demos)
    for each in demos:
        try:
            each.stop()
        except ReplicationError as error:
            problems.append(str(error))
    for own in with_own(where):
        LocalSession(Launcher(own, Path()), applications_in(own)).stop()
    left = _running(where, demos)
    for name in before:
        typer.echo(f"{name}: {'still runs' if name in left else 'stopped'}")
    if left:
        problems.append(f"still running from state directory {where.root}: {', '.join(left)}")
    if problems:
        end(1, "; ".join(problems))
    if not before:
        typer.echo(
            f"nothing runs from state directory {where.root}; {HOME_VARIABLE} names another one"
        )


def _running(where: StateDirectory, demos: Iterable[Demo]) -> list[str]:
    return [*running_here(where), *(name for each in demos for name in each.running())]


def build_session(
    config: Config, file: Path, *, host: str = HOST, port: int | None, ui: bool
) -> LocalSession:
    return LocalSession(
        Launcher(state_directory(), file.absolute()), applications(config), port, ui, host
    )


def operate(
    session: LocalSession,
    view: StatusView,
    show: Show,
    seconds: float | None,
    *,
    detach: bool = False,
) -> str:
    """Start the session, show it until ``ending`` or for ``seconds``, and stop it.

    Returns what was not well at the end; empty: all was, or it was interrupted.
    """
    session.start()
    ending, leave = show.ending, False
    try:
        show.while_waiting("starting Dagster", lambda: session.wait_for_ui(ending))
        if session.ui:
            show.note = f"Dagster: {session.address}"
            show.console.print(show.note)
        views = show.until_up(view, START_LIMIT_S if seconds is not None else None)
        leave = detach and not ending
        if leave:
            show.console.print("left running; stop it with `isthmus down`")
        elif not ending:
            show.until_first_records(view, views)
            views = show.until_over(view, seconds)
        return "" if ending else unwell(views)
    finally:
        if not leave:
            show.while_stopping("stopping Dagster and Spark", session.stop)
