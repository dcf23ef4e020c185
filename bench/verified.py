"""Verifies a copy of many records: undamaged, and with six faults of one record each in its log.

``python -m bench.verified`` (``make bench BENCH_MODULE=bench.verified``). Isthmus copies the
records. Then the target's broker is stopped, its log rewritten, and started again. Ends with exit
code 1 unless ``isthmus verify`` finds nothing before, and the six faults, at their offsets, and
nothing else, after.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bench.records import damage
from bench.records.gate import BenchFailed, Dataset, closed_gate
from bench.tools.brokers import running
from bench.tools.running import PARTITIONS, copy_of, started
from bench.tools.tool_config import ISTHMUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.records.damage import Change

_TOPIC = "bench-isthmus-verified"
_RECORDS_BETWEEN = 100_003  # records between the one that is missing and the one that is doubled


class LogFault(NamedTuple):
    """A fault, where it is in the log, and what it is to be found as."""

    name: str
    change: Change
    partition: int
    offset: int
    kind: str
    source: int | None  # offset in the report
    target: int | None


def faults(each: int) -> list[LogFault]:
    """Return one fault of each kind, in partitions of so many records."""
    third, half = each // 3 | 1, each // 2 | 1  # every second record has headers: the odd ones
    doubled = third + min(_RECORDS_BETWEEN, each // 4)
    return [
        LogFault("a flipped bit", damage.flip, 1, third, "different_value", third, third),
        LogFault("a swapped pair", damage.swap, 2, third, "out_of_order", third + 1, third),
        LogFault("a missing record", damage.remove, 0, third, "lost", third, None),
        # The copy is one record behind here, so that its second one has the first one's offset.
        LogFault("a doubled record", damage.double, 0, doubled, "repeated", None, doubled),
        LogFault("a wrong timestamp", damage.delay, 3, third, "different_timestamp", third, third),
        LogFault("a lost header", damage.strip, 3, half, "different_headers", half, half),
    ]


def main(
    records: Annotated[
        int, typer.Option(min=100_000, help="how many, all partitions")
    ] = 10_000_000,
    size: Annotated[int, typer.Option(min=100, help="bytes of a value")] = 100,
) -> None:
    """Copy, verify, damage, verify again, and print how fast that was."""
    data = Dataset(_TOPIC, PARTITIONS, records, size)
    with TemporaryDirectory() as directory, running(Path(directory) / "clusters") as pair:
        pair.create([_TOPIC], PARTITIONS)
        place = Path(directory)
        with (
            started(ISTHMUS, pair, place, [_TOPIC]) as here,
            closed_gate(pair.source, data) as gate,
        ):
            copy = here.copy(gate)
        typer.echo(f"{records:,} records of {size} B copied in {copy.seconds:.0f} s")
        before = _verified(place)
        typer.echo(f"undamaged: {_line(before)}")
        made = faults(data.per_partition)
        with pair.target_stopped() as data_directory:
            for number in range(PARTITIONS):
                mine = {each.offset: each.change for each in made if each.partition == number}
                damage.damage(data_directory / f"{copy_of(_TOPIC)}-{number}", mine)
        after = _verified(place, "--full")
    typer.echo(f"damaged: {_line(after)}")
    good = before["result"] == "equal" and before["records"] == records
    sys.exit(0 if all([good, *_judged(made, after)]) else 1)


def _verified(place: Path, *options: str) -> dict[str, Any]:
    """Run the command, on one core."""
    file = place / f"{ISTHMUS.name}.properties"
    isthmus = Path(sys.executable).with_name("isthmus")
    command = [str(isthmus), "verify", str(file), "-o", "json"]
    environment = {**os.environ, "ISTHMUS_HOME": str(place / "home")}
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode not in (0, 1):
        raise BenchFailed(f"isthmus verify: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)[0]
    return found


def _line(found: dict[str, Any]) -> str:
    speed = found["gb_per_minute_and_core"]
    return (
        f"{found['result']}, {found['records']:,} records equal, {found['differences']} different; "
        f"{found['bytes'] / 1e9:.2f} GB of both logs, {found['cores']} core: "
        f"{found['task_seconds']:.1f} s of tasks, {found['cpu_seconds']:.1f} s of CPU, "
        f"{speed:.2f} GB per minute and core; {found['seconds']:.1f} s in all"
    )


def _judged(made: list[LogFault], found: dict[str, Any]) -> Iterator[bool]:
    """Print whether each fault was found; yield that, and whether nothing else was."""
    seen = {
        (int(each["source"].rpartition("-")[2]), *one["kinds"], one["source"], one["target"])
        for each in found["partitions"]
        for one in each["examples"]
    }
    for each in made:
        is_found = (each.partition, each.kind, each.source, each.target) in seen
        where = f"{copy_of(_TOPIC)}-{each.partition} offset {each.offset:,}"
        typer.echo(f"  {each.name}, {where}: {'found' if is_found else 'NOT FOUND'}")
        yield is_found
    if found["differences"] != len(made):
        typer.echo(f"  {found['differences']} differences instead of {len(made)}: {sorted(seen)}")
    yield found["differences"] == len(made)


if __name__ == "__main__":
    typer.run(main)
