"""The command ``python -m bench``."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from bench import brokers
from bench.figures import Figures, as_json, medians, rows
from bench.gate import BenchFailed
from bench.rounds import PARTITIONS, QUICK, Amounts, floor, visit
from bench.tools import ISTHMUS, MM2, Tool
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOOLS = {tool.name: tool for tool in (ISTHMUS, MM2)}
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
_console = Console(highlight=False, width=100)


def bench(
    rounds: Annotated[int, typer.Option(min=1, help="how often each tool is measured")] = 3,
    quick: Annotated[bool, typer.Option(help="one round of a fifth of the records")] = False,  # noqa: FBT002 - typer's way
    only: Annotated[list[str] | None, typer.Option(help="isthmus or mm2; may be repeated")] = None,
) -> None:
    """Measure Isthmus beside MirrorMaker 2 on two brokers of this machine."""
    if unknown := set(only or ()) - _TOOLS.keys():
        raise typer.BadParameter(f"{', '.join(unknown)}: choose from {', '.join(_TOOLS)}")
    tools = [_TOOLS[name] for name in only or _TOOLS]
    amounts, rounds = (QUICK, 1) if quick else (Amounts(), rounds)
    for number in _INTERRUPTS:
        signal.signal(number, _interrupted)
    _header(tools, amounts, rounds)
    try:
        with tempfile.TemporaryDirectory(prefix="isthmus-bench-") as directory:
            taken = _run(tools, Path(directory), amounts, rounds)
    except (BenchFailed, ReplicationError, KafkaException) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted; all that it started has ended")
    _print(medians(taken))


def _run(
    tools: Sequence[Tool], directory: Path, amounts: Amounts, rounds: int
) -> dict[str, list[Figures]]:
    """Measure the tools in turn, in an order that changes from round to round."""
    taken: dict[str, list[Figures]] = {name: [] for name in (*_TOOLS, "relay")}
    with brokers.running(directory / "clusters") as pair:
        for number in range(rounds):
            for tool in tools if number % 2 == 0 else tools[::-1]:
                began, place = time.monotonic(), directory / tool.name / str(number + 1)
                found = visit(tool, pair, place, amounts, compare=number == 0)
                taken[tool.name].append(found)
                print(_line(number + 1, tool.title, found, time.monotonic() - began), flush=True)
            taken["relay"].append(floor(pair, number + 1, amounts))
            print(_line(number + 1, "relay", taken["relay"][-1], 0), flush=True)
    return taken


def _header(tools: Sequence[Tool], amounts: Amounts, rounds: int) -> None:
    print(
        f"{rounds} round(s): {amounts.kilo:,} records of 1 KB and {amounts.small:,} of 100 B, "
        f"lz4, {PARTITIONS} partitions, batches of about 70 KB; both brokers on this machine"
    )
    for tool in tools:
        print(f"{tool.title}: {tool.about}")


def _line(number: int, title: str, found: Figures, seconds: float) -> str:
    shown = ", ".join(f"{key} {value:,.2f}" for key, value in found.items())
    return f"round {number} {title}: {shown} ({seconds:.0f} s)"


def _print(result: Figures) -> None:
    table = Table("median", ISTHMUS.title, MM2.title, "times better")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows(result):
        table.add_row(*row)
    _console.print(table)
    print(as_json(result), flush=True)


def _interrupted(_signal: int, _frame: object) -> NoReturn:
    """Begin to clean up; from now on further signals would only leave processes behind."""
    for number in _INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(bench)
    app()
