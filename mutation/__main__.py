"""The command ``python -m mutation``: runs a sample of mutants and lists those that survive."""

from __future__ import annotations

import fnmatch
import random
import sys
import time
from typing import Annotated

import typer

from mutation import run
from mutation.mutants import NOT_RUN, SURVIVED, sample, summary, untested


def mutation(
    seed: Annotated[int | None, typer.Option(help="of the sample; drawn when missing")] = None,
    mutants: Annotated[int, typer.Option(min=1, help="how many are drawn")] = 400,
    minutes: Annotated[float, typer.Option(min=2, help="until it ends")] = 10.0,
    only: Annotated[str, typer.Option(help="pattern, such as 'replication.copier.*'")] = "*",
    processes: Annotated[int, typer.Option(min=1, help="at a time")] = 2,
) -> None:
    """Change the code in many places, one at a time, and list the changes that no test notices."""
    chosen = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    ends = time.monotonic() + minutes * 60
    print(f"mutation: seed {chosen}; making the mutants and timing the tests", flush=True)
    try:
        names = fnmatch.filter(run.make(processes), only)
        drawn = sample(names, mutants, chosen)
        if not drawn:
            sys.exit(f"mutation: no mutant is called {only}")
        print(f"mutation: {len(drawn)} of {len(names)} mutants are drawn", flush=True)
        run.run(drawn, processes, ends - time.monotonic())
        found = run.results()
        _report({each: found.get(each, NOT_RUN) for each in drawn})
    except run.MutmutFailed as error:
        sys.exit(f"mutation: {error}")


def _report(drawn: dict[str, str]) -> None:
    survivors = sorted(name for name, status in drawn.items() if status == SURVIVED)
    for name in survivors:
        print(run.shown(name), flush=True)
    for line in untested(drawn):
        print(f"called by no test: {line}")
    print(f"mutation: {summary(drawn)}")


if __name__ == "__main__":
    typer.run(mutation)
