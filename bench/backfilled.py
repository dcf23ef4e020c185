"""Measures how late live records are while history is backfilled beside them.

``python -m bench.backfilled`` (``make bench BENCH_MODULE=bench.backfilled``). A stream that began
at the end of a topic copies live records of it, and of a second topic, of which it is watched how
late they are: before, and while ``isthmus backfill`` copies the history. Then ``isthmus compare``
compares both. Ends with exit code 1 if a record differs, or p99 meanwhile is twice that before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench.figures import percentile
from bench.records.gate import BenchFailed, Dataset, closed_gate
from bench.records.live import Live, LiveTopic
from bench.tools.brokers import running
from bench.tools.running import PARTITIONS, copy_of, started
from bench.tools.tool_config import ISTHMUS, SOURCE, TARGET

if TYPE_CHECKING:
    from collections.abc import Sequence

_FLOW = f"{SOURCE}:{TARGET}"
_HISTORY, _LIVE = "bench-isthmus-history", "bench-isthmus-live"
_WARM_S, _BEFORE_S = 20.0, 40.0
_TIMES = 2  # p99 may be so many times what it was
_KINDS = ("lost", "repeated", "different", "out_of_order")


def main(
    records: Annotated[int, typer.Option(min=10_000, help="of the history")] = 5_000_000,
    size: Annotated[int, typer.Option(min=100, help="bytes of a value")] = 100,
    rate: Annotated[int, typer.Option(min=100, help="live records a second")] = 2_000,
) -> None:
    """Backfill, and print how late live records were."""
    data = Dataset(_HISTORY, PARTITIONS, records, size)
    tool = replace(
        ISTHMUS, settings={**ISTHMUS.settings, f"{SOURCE}->{TARGET}.copy.start": "latest"}
    )
    with TemporaryDirectory() as directory, running(Path(directory) / "clusters") as pair:
        place = Path(directory)
        pair.create([_HISTORY, _LIVE], PARTITIONS)
        with closed_gate(pair.source, data) as gate:
            gate.open()
        here = [LiveTopic(pair.source, each, PARTITIONS) for each in (_LIVE, _HISTORY)]
        copy = LiveTopic(pair.target, copy_of(_LIVE), PARTITIONS)
        with started(tool, pair, place, [_HISTORY, _LIVE]):
            with Live(here, [here[0], copy], rate) as live:
                live.wait_for_first()
                time.sleep(_WARM_S + _BEFORE_S)
                began = time.time()
                run = _isthmus(place, "backfill", "--flow", _FLOW, "--topics", _HISTORY)["run"]
                ended = time.time()
                direct, seen = live.end()
            typer.echo(
                f"{run['records']:,} records of history in {ended - began:.0f} s, {rate:,} live a "
                "second"
            )
            before, meanwhile = (
                _late(name, direct.between(*times), seen.between(*times))
                for name, times in (
                    ("before", (began - _BEFORE_S, began)),
                    ("meanwhile", (began, ended)),
                )
            )
            stream = _compared("stream", place, None, "--wait", "60")
        file = place / "home" / "backfills" / f"{SOURCE}-to-{TARGET}" / "backfill.properties"
        history = _compared("history", place, file)
    is_whole = run["records"] >= records  # and live ones from before the stream began
    is_equal = stream and history and is_whole
    is_good = is_equal and meanwhile < _TIMES * before
    typer.echo(
        f"{'good' if is_good else 'missed'}: p99 of live records {meanwhile:.0f} ms meanwhile, "
        f"{before:.0f} ms before: {meanwhile / before:.2f} times (must be below {_TIMES}); "
        f"{'every record equal' if is_equal else 'records differ, or are missing'}"
    )
    sys.exit(0 if is_good else 1)


def _compared(name: str, place: Path, file: Path | None, *options: str) -> bool:
    """Print what `isthmus compare` finds; say whether all records are equal."""
    found = _isthmus(place, "compare", *options, file=file)
    wrong = ", ".join(f"{found[kind]:,} {kind.replace('_', ' ')}" for kind in _KINDS)
    typer.echo(f"  compare, {name}: {found['records']:,} records: {found['result']}: {wrong}")
    return found["result"] == "equal" and not any(found[kind] for kind in _KINDS)


def _late(name: str, direct: Sequence[float], late: Sequence[float]) -> float:
    """Print how late records were, and the same at the source; return p99 of the copies."""
    if not late or len(late) != len(direct):
        raise BenchFailed(f"{len(late):,} of {len(direct):,} live records arrived {name}")
    p99 = percentile(late, 99)
    typer.echo(
        f"  {name}: p50 {percentile(late, 50):.0f} ms, p99 {p99:.0f} ms, at most {max(late):.0f} "
        f"ms, {len(late):,} records; seen at the source: p50 {percentile(direct, 50):.0f} ms, p99 "
        f"{percentile(direct, 99):.0f} ms"
    )
    return p99


def _isthmus(place: Path, verb: str, *options: str, file: Path | None = None) -> dict[str, Any]:
    command = [str(Path(sys.executable).with_name("isthmus")), verb]
    command += [str(file or place / f"{ISTHMUS.name}.properties"), *options, "-o", "json"]
    environment = {**os.environ, "ISTHMUS_HOME": str(place / "home")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode not in (0, 1) or not done.stdout:
        raise BenchFailed(f"isthmus {verb}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    typer.run(main)
