"""The command ``python -m bench``: runs the rounds and prints the table."""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from bench.figures import Figures, as_json, derived, medians, rows
from bench.measures.far import far_rate
from bench.measures.rounds import QUICK, Amounts, floor, visit
from bench.measures.takeover import takeover
from bench.records.gate import BenchFailed
from bench.tools import brokers
from bench.tools.running import PARTITIONS
from bench.tools.tool_config import ISTHMUS, MM2, Tool
from replication.adapters.local import processes
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOOLS = {tool.name: tool for tool in (ISTHMUS, MM2)}
_MEASURES = ("copy", "latency", "idle", "takeover", "far")
_console = Console(highlight=False, width=120)


def bench(
    rounds: Annotated[int, typer.Option(min=1, help="how often each tool is measured")] = 3,
    quick: Annotated[bool, typer.Option(help="one round of a fifth of the records")] = False,  # noqa: FBT002 - typer's way
    only: Annotated[list[str] | None, typer.Option(help="isthmus or mm2; may be repeated")] = None,
    measures: Annotated[str, typer.Option(help="some of these")] = ",".join(_MEASURES),
    tls: Annotated[bool, typer.Option(help="both tools come over TLS to both brokers")] = False,  # noqa: FBT002 - typer's way
) -> None:
    """Measure Isthmus beside MirrorMaker 2 on two brokers of this machine."""
    if unknown := set(only or ()) - _TOOLS.keys():
        raise typer.BadParameter(f"{', '.join(unknown)}: choose from {', '.join(_TOOLS)}")
    chosen = frozenset(measures.split(","))
    if unknown := chosen - set(_MEASURES):
        raise typer.BadParameter(f"{', '.join(unknown)}: choose from {', '.join(_MEASURES)}")
    if tls and "far" in chosen:
        chosen -= {"far"}
        print("far is not measured: its proxies stand before listeners in plain text")
    tools = [_TOOLS[name] for name in only or _TOOLS]
    amounts, rounds = (QUICK, 1) if quick else (Amounts(), rounds)
    processes.interrupt_once()
    _header(tools, amounts, rounds)
    try:
        with tempfile.TemporaryDirectory(prefix="isthmus-bench-") as directory:
            plan = BenchPlan(tools, Path(directory), amounts, rounds, chosen, tls)
            taken = _run(plan)
    except (BenchFailed, ReplicationError, KafkaException) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted; all that it started has ended")
    _print(derived(medians(taken)))


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure, and where."""

    tools: Sequence[Tool]
    directory: Path
    amounts: Amounts
    rounds: int
    measures: frozenset[str]
    tls: bool


def _run(plan: BenchPlan) -> dict[str, list[Figures]]:
    """Measure the tools in turn, in an order that changes from round to round."""
    taken: dict[str, list[Figures]] = {name: [] for name in (*_TOOLS, "floor")}
    with brokers.running(plan.directory / "clusters", tls=plan.tls) as pair:
        for number in range(1, plan.rounds + 1):
            for tool in plan.tools if number % 2 else plan.tools[::-1]:
                began = time.monotonic()
                taken[tool.name].append(_measured(plan, tool, pair, number))
                lasted = time.monotonic() - began
                print(_line(number, tool.title, taken[tool.name][-1], lasted), flush=True)
            taken["floor"].append(floor(pair, number, plan.amounts, plan.measures))
            print(_line(number, "floor", taken["floor"][-1], 0), flush=True)
    return taken


def _measured(plan: BenchPlan, tool: Tool, pair: brokers.Brokers, number: int) -> Figures:
    """Take all measures of a tool once. Takeover and far network start the tool again."""
    place, found = plan.directory / tool.name / str(number), Figures()
    if plan.measures & {"copy", "latency", "idle"}:
        found |= visit(tool, pair, place, plan.amounts, plan.measures)
    if "takeover" in plan.measures and tool is ISTHMUS:
        found |= takeover(tool, pair, place.with_name(f"{number}t"), plan.amounts.takeover)
    if "far" in plan.measures:
        found |= far_rate(tool, pair, place.with_name(f"{number}f"), plan.amounts.far)
    return found


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
    table = Table("median", ISTHMUS.title, MM2.title, "times better", "target", "")
    for column in table.columns[1:4]:
        column.justify = "right"
    for row in rows(result):
        table.add_row(*row)
    _console.print(table)
    print(as_json(result), flush=True)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(bench)
    app()
