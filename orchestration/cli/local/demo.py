"""``isthmus demo``: starts clusters, producers and flows on this machine; for ``make run``."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.local.live import Show
from orchestration.cli.local.run import (
    NoUi,
    Port,
    Seconds,
    build_session,
    operate,
)
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import keep_file
from orchestration.demo.demo_clusters import demo_of, fetch_kafka
from orchestration.demo.scenarios import SCENARIOS, Scenario, scenario
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.status_view import StatusView
from orchestration.services.local_session import Ending, require_stopped
from orchestration.services.state_directory import prepare, state_directory
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION

Played = Annotated[str, typer.Argument(help=f"The scenario: {', '.join(SCENARIOS)}.")]
FETCHING = f"looking for Kafka {DEFAULT_VERSION} (the first start downloads it)"


def demo(
    name: Played = "copy", *, no_ui: NoUi = False, port: Port = None, seconds: Seconds = None
) -> None:
    """Start Kafka clusters on this machine, write orders to them and copy them; show the flows.

    Ctrl-C stops all of it.
    """
    played = scenario(name)
    java()
    where = state_directory()
    prepare(where)
    require_stopped(where)
    staged = demo_of(where.root, played)
    with Ending(interrupts=True) as ending:
        show = Show(console(), ending)
        try:
            show.while_waiting(FETCHING, fetch_kafka)
            show.while_waiting(starting_clusters(played), staged.start_clusters)
            staged.start_traffic()
            ending.interrupts = False
            config = read_config(keep_file(staged.config))
            session = build_session(config, staged.config, port=port, ui=not no_ui)
            problem = operate(session, StatusView(config, session.launcher), show, seconds)
        finally:
            ending.interrupts = False
            show.while_stopping("stopping the Kafka clusters", staged.stop)
    end(1 if problem else 0, problem)


def starting_clusters(played: Scenario) -> str:
    """Return the progress text while the clusters of a scenario start."""
    logins = {name: f" with {kind}" for name, kind in played.security.items()}
    names = [f"{each}{logins.get(each, '')}" for each in played.clusters]
    return f"starting {len(names)} Kafka clusters ({', '.join(names)})"
