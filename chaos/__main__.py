"""The command ``python -m chaos``: runs a seed's faults and compares all records."""

from __future__ import annotations

import contextlib
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chaos.run import Run
from chaos.schedule import draw
from chaos.stage import ChaosStage
from chaos.topics.chaos_topics import TOPICS
from chaos.topics.registry import MoodyRegistry
from chaos.topics.transformed_topics import TRANSFORMED
from replication.adapters.local import processes
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from chaos.schedule import Schedule
    from chaos.verdict import ChaosVerdict


def chaos(
    seed: Annotated[int | None, typer.Option(help="of the schedule; drawn when missing")] = None,
    minutes: Annotated[float, typer.Option(min=0.2, help="how long faults happen")] = 5.0,
    brokers: Annotated[
        int | None, typer.Option(min=1, help="of each cluster; else the seed chooses 1 or 3")
    ] = None,
    *,
    transforms: Annotated[
        bool, typer.Option("--transforms", help="also topics whose records SQL and Python change")
    ] = False,
) -> None:
    """Copy between two clusters of this machine while faults happen, then compare every record."""
    chosen = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    print(f"chaos: seed {chosen}, {minutes:g} minutes", flush=True)
    processes.interrupt_once()
    root = Path(tempfile.mkdtemp(prefix=f"isthmus-chaos-{chosen}-"))
    schedule = draw(chosen, minutes, brokers)
    right = False
    try:
        right = _run(schedule, minutes, root, transforms=transforms)
    except ReplicationError as error:
        sys.exit(f"chaos: {error}")
    except KeyboardInterrupt:
        right = True  # nothing to examine
        sys.exit("chaos: interrupted; all that it started has ended")
    finally:
        if right:
            shutil.rmtree(root, ignore_errors=True)
        else:
            print(f"logs and data stay in {root}", flush=True)
    sys.exit(0 if right else 1)


def _run(schedule: Schedule, minutes: float, root: Path, *, transforms: bool) -> bool:
    """Run it; return whether all guarantees were kept."""
    began = time.monotonic()
    stage = ChaosStage(root, schedule.brokers, schedule.forgetful)
    topics = (*TOPICS, *TRANSFORMED) if transforms else TOPICS
    run = Run(stage, schedule, topics, lambda line: _say(line, began))
    with contextlib.ExitStack() as stack:
        registry = stack.enter_context(contextlib.closing(MoodyRegistry(schedule.seed)))
        stack.callback(stage.close)
        stack.callback(stage.over.set)
        run.start({"schema.registry.url": registry.url} if transforms else {})
        run.run_faults(minutes * 60)
        run.settle()
        verdict = run.judge()
    if registry.refused:
        _say(f"the schema registry refused {registry.refused} requests", began)
    for line in (*verdict.notes, *run.problems, *run.writers.problems):
        _say(line, began)
    print(_last_line(schedule.seed, minutes, run, verdict), flush=True)
    return verdict.right and not run.problems


def _last_line(seed: int, minutes: float, run: Run, verdict: ChaosVerdict) -> str:
    excused = f" ({verdict.excused} where that is allowed)" if verdict.excused else ""
    answers = len(run.operator.answered)
    answered = f", {answers} partitions copied again" if answers else ""
    problems = f", {len(run.problems)} problems" if run.problems else ""
    return (
        f"seed {seed}: {minutes:g} minutes, {run.faults.done} faults, {verdict.records} records, "
        f"{verdict.lost} lost, {verdict.repeated} repeated{excused}, {verdict.different} different"
        f"{answered}{problems}"
    )


def _say(line: str, began: float) -> None:
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    sys.stdout.write(f"+{minutes:02}:{seconds:02} {line}\n")  # at once: several threads do
    sys.stdout.flush()


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(chaos)
    app()
