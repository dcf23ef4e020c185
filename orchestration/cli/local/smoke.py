"""``isthmus smoke``: kills processes while records are copied, then compares every record."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.local.demo import FETCHING, starting_clusters
from orchestration.cli.local.live import Show
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.stage import stage
from orchestration.demo.demo_clusters import fetch_kafka
from orchestration.demo.failover_round import HERE, NAME, PLAYED, THERE, FailoverRound
from orchestration.demo.hybrid_round import NAME as HYBRID
from orchestration.demo.hybrid_round import HybridRound
from orchestration.demo.scenarios import SCENARIOS, scenario
from orchestration.demo.smoke import Smoke
from orchestration.services.local_session import Ending
from orchestration.services.state_directory import prepare, state_directory
from replication.adapters.local.files import make_private
from replication.adapters.local.java import java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestration.demo.smoke_verdict import SmokeVerdict


_KINDS: dict[str, type[Smoke]] = {NAME: FailoverRound, HYBRID: HybridRound}


def smoke(
    name: Annotated[
        str, typer.Argument(help=f"The scenario: {', '.join([*SCENARIOS, NAME])}.")
    ] = "copy",
    *,
    records: Annotated[
        int | None,
        typer.Option(min=1_000, help="Records to write. Default: the scenario's number."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the logs and the data.")] = False,
) -> None:
    """Copy records while a Spark worker and a driver are killed, then compare every record.

    The scenario `failover` kills a cluster instead, fails over, and fails back.

    Exit code 1: a record is lost, repeated or different.
    """
    played = PLAYED if name == NAME else scenario(name)
    java()
    where = state_directory()
    prepare(where)
    root = where.root / f"smoke-{int(time.time())}"
    make_private(root)
    kind = _KINDS.get(name, Smoke)
    proof = kind(root, played, records or played.records)
    screen = console()
    with Ending(interrupts=True) as ending:
        show = Show(screen, ending)
        try:
            show.while_waiting(FETCHING, fetch_kafka)
            show.while_waiting(starting_clusters(played), proof.start_clusters)
            starting = "starting Dagster and Spark (the first start takes about a minute)"
            show.while_waiting(starting, proof.start_flows)
            for doing, work in _stages(proof):
                show.while_waiting(doing, work)
            with stage(screen, "comparing every record"):
                found = proof.compare()
        finally:
            ending.interrupts = False
            show.while_stopping("stopping Dagster, Spark and the Kafka clusters", proof.stop)
            if not keep:
                shutil.rmtree(root, ignore_errors=True)
    if isinstance(proof, FailoverRound):
        for problem in proof.problems:
            typer.echo(problem)
        good = found.right and not proof.problems
        end(0 if good else 1, _round_sentence(proof, found), is_output=True)
    sentence = _result(proof, found) if name == HYBRID else _sentence(proof, found)
    end(0 if found.right else 1, sentence, is_output=True)


def _stages(proof: Smoke) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what is done between start and comparison."""
    if isinstance(proof, FailoverRound):
        yield (
            f"copying; kill -9 of the broker of {HERE} while records are written",
            proof.lose_source,
        )
        yield f"failing over to {THERE}", proof.fail_over
        yield f"writing on {THERE}", proof.work_on_target
        yield f"{HERE} is back", proof.return_of_source
        yield f"failing back to {HERE}; what never arrived is merged", proof.fail_back
    else:
        copying = f"copying {proof.records:,} records; kill -9 of a worker and a driver"
        yield copying, proof.copy_during_kills
    yield "copying the rest", proof.drain


def _counts(proof: Smoke, found: SmokeVerdict) -> list[str]:
    parts = [
        f"{found.records} records",
        f"{found.lost + found.missing} lost",
        f"{found.repeated} repeated",
        f"{found.different} different",
    ]
    if proof.scenario.circles:
        parts.append(f"{found.copied_back} copied back to their origin")
    return parts


def _result(proof: Smoke, found: SmokeVerdict) -> str:
    return f"smoke: {', '.join(_counts(proof, found))}"


def _sentence(proof: Smoke, found: SmokeVerdict) -> str:
    return f"{_result(proof, found)}, driver back after {proof.back_s:.1f} s"


def _round_sentence(proof: FailoverRound, found: SmokeVerdict) -> str:
    missing = proof.returned.records if proof.returned else 0
    sentence = "not " if proof.problems else ""
    return (
        f"smoke: failover {', '.join(_counts(proof, found))}, RTO {proof.rto_s:.1f} s, "
        f"RPO {missing} records {sentence}as announced"
    )
