"""``isthmus pause``, ``resume`` and ``stop``: set the desired state of flows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.flows.answers import answering_flows
from orchestration.flows.clusters import KafkaClusters, read_config
from orchestration.flows.intents import write_intent
from replication.model import Desired

File = Annotated[Path, typer.Argument(help="Properties file with the clusters and flows.")]
Named = Annotated[
    list[str] | None,
    typer.Option(
        "--flow", "-f", help="Name of a flow, such as 'A->B'; may be repeated. Default: all flows."
    ),
]


def pause(file: File, flow: Named = None) -> None:
    """Pause flows until they are resumed; their Spark application keeps running."""
    _write(file, flow, Desired.PAUSE, "will pause within seconds")


def resume(file: File, flow: Named = None) -> None:
    """Resume paused or stopped flows."""
    _write(file, flow, Desired.RUN, "will run within seconds")


def stop(file: File, flow: Named = None) -> None:
    """Stop flows until they are resumed; a Spark application ends with its last running flow."""
    _write(file, flow, Desired.STOP, "will stop within seconds")


def _write(file: Path, names: list[str] | None, desired: Desired, outcome: str) -> None:
    config, clusters = read_config(file), KafkaClusters()
    for flow in answering_flows(config, names, sources=False):
        write_intent(flow, desired, clusters)
        typer.echo(f"{flow.name} {outcome}")
