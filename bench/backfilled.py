"""Measures how late live records are while history is backfilled beside them.

``python -m bench.backfilled`` (``make bench BENCH_MODULE=bench.backfilled``). A stream that began
at the end of a topic copies live records of it, and of a second topic, whose consumer sees how late
they are: before, and while ``isthmus backfill`` copies the history. Then ``isthmus compare``
compares both. Ends with exit code 1 if a record differs, or p99 meanwhile is twice that before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.brokers import running
from bench.figures import percentile
from bench.gate import BenchFailed, Dataset, closed_gate
from bench.running import PARTITIONS, copy_of, started
from bench.threads import working
from bench.tools import ISTHMUS, SOURCE, TARGET

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

_FLOW = f"{SOURCE}:{TARGET}"
_HISTORY, _LIVE = "bench-isthmus-history", "bench-isthmus-live"
_WARM_S, _BEFORE_S = 15.0, 30.0
_START_S = 180.0
_TIMES = 2  # p99 may be so many times what it was


@dataclass(slots=True)
class Live:
    """Writes to both topics at an even rate; notes when records of one came, and how late."""

    source: str
    target: str
    rate: int  # records a second, of both topics
    seen: list[tuple[float, float]] = field(default_factory=list)  # moment, ms
    _over: threading.Event = field(default_factory=threading.Event)

    def flowing(self) -> AbstractContextManager[None]:
        return working(self._over, self._write, self._watch)

    def wait_for_first(self) -> None:
        """Return when records arrive."""
        deadline = time.monotonic() + _START_S
        while not self.seen:
            if time.monotonic() > deadline:
                raise BenchFailed(f"no live record arrived within {_START_S:.0f} s")
            time.sleep(0.1)

    def between(self, begin: float, end: float) -> list[float]:
        """Return how late those were that came between two moments."""
        return [late for moment, late in self.seen if begin <= moment < end]

    def _write(self) -> None:
        producer = Producer({"bootstrap.servers": self.source, "linger.ms": 1, "log_level": 2})
        began, number = time.monotonic(), 0
        while not self._over.is_set():
            due = int((time.monotonic() - began) * self.rate)
            for each in range(number, due):
                topic = (_LIVE, _HISTORY)[each % 2]
                producer.produce(topic, b"x" * 100, b"k", partition=each // 2 % PARTITIONS)
            number = due
            producer.poll(0.002)
        producer.flush(10)

    def _watch(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.target,
                "group.id": "bench",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 5,
            }
        )
        copies = [TopicPartition(copy_of(_LIVE), each, 0) for each in range(PARTITIONS)]
        consumer.assign(copies)
        while not self._over.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                late = time.time() * 1000 - message.timestamp()[1]
                self.seen.append((time.monotonic(), late))
        consumer.close()


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
        live = Live(pair.source, pair.target, rate)
        with started(tool, pair, place, [_HISTORY, _LIVE]):
            with live.flowing():
                live.wait_for_first()
                time.sleep(_WARM_S + _BEFORE_S)
                began = time.monotonic()
                run = _isthmus(place, "backfill", "--flow", _FLOW, "--topics", _HISTORY)["run"]
                ended = time.monotonic()
            typer.echo(
                f"{run['records']:,} records of history in {ended - began:.0f} s, {rate:,} live a "
                "second"
            )
            before = _late("before", live.between(began - _BEFORE_S, began))
            meanwhile = _late("meanwhile", live.between(began, ended))
            found = _compared("stream", place, None, "--wait", "60")
        history = place / "home" / "backfills" / f"{SOURCE}-to-{TARGET}" / "backfill.properties"
        again = _compared("history", place, history)
    good = meanwhile < _TIMES * before and {found, again} == {"equal"}
    is_whole = run["records"] >= records  # and live ones from before the stream began
    sys.exit(0 if good and is_whole else 1)


def _compared(name: str, place: Path, file: Path | None, *options: str) -> str:
    found = _isthmus(place, "compare", *options, file=file)
    wrong = [found[kind] for kind in ("lost", "repeated", "different", "out_of_order")]
    typer.echo(f"  {name}: {found['records']:,} records compared: {found['result']}, {wrong}")
    return str(found["result"])


def _late(name: str, late: Sequence[float]) -> float:
    if not late:
        raise BenchFailed(f"no live record arrived {name}")
    p99 = percentile(late, 99)
    typer.echo(
        f"  {name}: p50 {percentile(late, 50):.0f} ms, p99 {p99:.0f} ms, at most {max(late):.0f} "
        f"ms, {len(late):,} records"
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
