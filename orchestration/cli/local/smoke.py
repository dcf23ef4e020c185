"""``isthmus smoke``: kills processes while records are copied, then compares every record."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.local.demo import FETCHING, Played, starting_clusters
from orchestration.cli.local.live import Show
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.stage import stage
from orchestration.demo.demo_clusters import fetch_kafka
from orchestration.demo.scenarios import scenario
from orchestration.demo.smoke import Smoke
from orchestration.services.home import home, prepare
from orchestration.services.local_session import Ending
from replication.adapters.local.java import java

if TYPE_CHECKING:
    from orchestration.demo.smoke_verdict import Verdict


def smoke(
    name: Played = "copy",
    *,
    records: Annotated[
        int | None,
        typer.Option(min=1_000, help="Records to write. Default: the scenario's number."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the logs and the data.")] = False,
) -> None:
    """Copy records while a Spark worker and a driver are killed, then compare every record.

    Exit code 1: a record is lost, repeated or different.
    """
    played = scenario(name)
    java()
    where = home()
    prepare(where)
    root = where.root / f"smoke-{int(time.time())}"
    proof = Smoke(root, played, records or played.records)
    screen = console()
    with Ending(interrupts=True) as ending:
        show = Show(screen, ending)
        try:
            show.while_waiting(FETCHING, fetch_kafka)
            show.while_waiting(starting_clusters(played), proof.start_clusters)
            starting = "starting Dagster and Spark (the first start takes about a minute)"
            show.while_waiting(starting, proof.start_flows)
            copying = f"copying {proof.records:,} records; kill -9 of a worker and a driver"
            show.while_waiting(copying, proof.copy_during_kills)
            show.while_waiting("copying the rest", proof.drain)
            with stage(screen, "comparing every record"):
                found = proof.compare()
        finally:
            ending.interrupts = False
            show.while_stopping("stopping Dagster, Spark and the Kafka clusters", proof.stop)
            if not keep:
                shutil.rmtree(root, ignore_errors=True)
    end(0 if found.right else 1, _sentence(proof, found), is_output=True)


def _sentence(proof: Smoke, found: Verdict) -> str:
    parts = [
        f"{found.records} records",
        f"{found.lost + found.missing} lost",
        f"{found.repeated} repeated",
        f"{found.different} different",
    ]
    if proof.scenario.circles:
        parts.append(f"{found.copied_back} copied back to their origin")
    return f"smoke: {', '.join(parts)}, driver back after {proof.back_s:.1f} s"
