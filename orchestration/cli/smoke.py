"""``isthmus smoke``: the proof by violence. ``make smoke`` calls it."""

from __future__ import annotations

import shutil
import time
from typing import Annotated

import typer
from rich.console import Console

from orchestration.cli.live import Show
from orchestration.home import home, prepare
from orchestration.session import Ending
from orchestration.smoke import Smoke
from replication.adapters.java import java


def smoke(
    records: Annotated[int, typer.Option(min=1_000, help="How many to copy.")] = 200_000,
    *,
    keep: Annotated[bool, typer.Option("--keep", help="Leave logs and data behind.")] = False,
) -> None:
    """Copy records while a worker and the driver are killed, then compare every one of them."""
    java()
    where = home()
    prepare(where)
    root = where.root / f"smoke-{int(time.time())}"
    proof = Smoke(root, records)
    console = Console()
    with Ending(interrupts=True) as ending:
        show = Show(console, ending)
        try:
            show.while_waiting("starting two clusters, Dagster and the flow", proof.start)
            show.while_waiting(f"copying {records} records under kill -9", proof.copy_under_fire)
            show.while_waiting("copying the rest", proof.drain)
            found = proof.compare()
        finally:
            ending.interrupts = False
            show.while_waiting("stopping", proof.stop)
            if not keep:
                shutil.rmtree(root, ignore_errors=True)
    right = found.right and found.records == records
    console.print(
        f"smoke: {found.records} records, {found.lost} lost, {found.repeated} repeated, "
        f"{found.different} different, driver back after {proof.back_s:.1f} s",
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(0 if right else 1)
