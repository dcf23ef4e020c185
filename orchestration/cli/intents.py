"""``isthmus pause``, ``resume`` and ``stop``: write down what is wanted of a flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.clusters import KafkaClusters, read_config
from orchestration.intents import named_flows, write_intent
from replication.model import Desired

File = Annotated[Path, typer.Argument(help="Properties file with the flows.")]
Named = Annotated[
    list[str] | None, typer.Option("--flow", "-f", help="A flow, such as 'A->B'; else all.")
]


def pause(file: File, flow: Named = None) -> None:
    """Stop copying until resumed; the Spark application stays up."""
    _write(file, flow, Desired.PAUSE, "is to pause")


def resume(file: File, flow: Named = None) -> None:
    """Copy again what was paused or stopped."""
    _write(file, flow, Desired.RUN, "is to run")


def stop(file: File, flow: Named = None) -> None:
    """Stop flows for good; their Spark application ends when all of its flows are stopped."""
    _write(file, flow, Desired.STOP, "is to stop")


def _write(file: Path, names: list[str] | None, desired: Desired, said: str) -> None:
    config, clusters = read_config(file), KafkaClusters()
    for flow in named_flows(config, names):
        write_intent(flow, desired, clusters)
        typer.echo(f"{flow.name} {said}")
