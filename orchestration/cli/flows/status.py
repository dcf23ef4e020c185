"""``isthmus status``: shows state, lag and throughput of every flow, from the target's records."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.live import Live

from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.flows.table import render
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.flows.status_view import FlowView, StatusView, as_data
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.adapters.followed_file import FollowedFile
from replication.model import FlowState
from replication.planning.explain import counted
from replication.supervision.health import BEAT_STALE_MS

BETWEEN_S = 1.5  # two looks give a rate; anchors are written once a second
_APART_MS = 2_000  # of clocks that are set


def status(
    file: File,
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C.")] = False,
    output: Format = Output.TEXT,
) -> None:
    """Show state, lag and throughput of every flow. Exit code 0: all are healthy; 1: some are not.

    If the file has errors, the last valid settings are shown, and the errors.

    Reads the state topics on the target clusters; neither Dagster nor a driver has to run.
    """
    followed = FollowedFile(file, state_directory().root, keeps=False)
    config = followed.look().config
    view = StatusView(config, Launcher(state_directory(), file.absolute()), file=followed)
    if watch:
        follow(view)
    views = view.look()
    if any(each.topics for each in views):  # others have no rates
        time.sleep(BETWEEN_S)
        views = view.look()
    views = settled(view, views)
    if not output.is_text:
        print_data(as_data(views), output)
    else:
        console().print(render(views))
    problem = unwell(views)
    end(1 if problem else 0, problem)


def settled(view: StatusView, views: tuple[FlowView, ...]) -> tuple[FlowView, ...]:
    """Look on while beats are ahead of our clock: only a change shows that their drivers live."""
    first, until = _ahead(views), time.monotonic() + BEAT_STALE_MS / 1000
    while first and time.monotonic() <= until:
        time.sleep(1)
        views = view.look()
        now = _ahead(views)
        first = {flow: beat_ms for flow, beat_ms in first.items() if now.get(flow) == beat_ms}
    return views


def _ahead(views: tuple[FlowView, ...]) -> dict[str, int]:
    """Return the beats that are ahead of our clock by more than clocks may differ, by flow."""
    seen = [each.look.seen for each in views if each.look]
    return {
        each.flow: each.status.beat_ms
        for each in seen
        if each.status is not None
        and each.status.state != FlowState.STOPPED
        and each.status.beat_ms - each.now_ms > _APART_MS
    }


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
    unwell = f"{len(bad)} of {counted(len(views), 'flow')} not healthy: {reasons}" if bad else ""
    files = dict.fromkeys(each.in_force[1] for each in views if not each.in_force[0])
    return "; ".join(filter(None, (unwell, *files)))
