"""``isthmus smoke``: the proof by violence. ``make smoke`` calls it."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestration.cli.live import Show
from orchestration.home import home, prepare
from orchestration.scenarios import SCENARIOS, scenario
from orchestration.session import Ending
from orchestration.smoke import Smoke
from replication.adapters.java import java

if TYPE_CHECKING:
    from orchestration.verdict import Verdict


Played = Annotated[str, typer.Argument(help=f"One of {', '.join(SCENARIOS)}.")]


def smoke(
    name: Played = "copy",
    *,
    records: Annotated[
        int | None, typer.Option(min=1_000, help="How many to write; as the scenario does.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave logs and data behind.")] = False,
) -> None:
    """Copy records while a worker and a driver are killed, then compare every one of them."""
    played = scenario(name)
    java()
    where = home()
    prepare(where)
    root = where.root / f"smoke-{int(time.time())}"
    proof = Smoke(root, played, records or played.records)
    console = Console()
    with Ending(interrupts=True) as ending:
        show = Show(console, ending)
        try:
            starting = f"starting clusters {', '.join(played.clusters)}, Dagster and the flows"
            show.while_waiting(starting, proof.start)
            copying = f"copying {proof.records} records under kill -9"
            show.while_waiting(copying, proof.copy_under_fire)
            show.while_waiting("copying the rest", proof.drain)
            found = proof.compare()
        finally:
            ending.interrupts = False
            show.while_waiting("stopping", proof.stop)
            if not keep:
                shutil.rmtree(root, ignore_errors=True)
    console.print(_sentence(proof, found), highlight=False, soft_wrap=True)
    raise typer.Exit(0 if found.right else 1)


def _sentence(proof: Smoke, found: Verdict) -> str:
    parts = [
        f"{found.records} records",
        f"{found.lost + found.missing} lost",
        f"{found.repeated} repeated",
        f"{found.different} different",
    ]
    if proof.scenario.circles:
        parts.append(f"{found.came_home} came home")
    return f"smoke: {', '.join(parts)}, driver back after {proof.back_s:.1f} s"
