"""Measures a filter: Spark SQL's beside MirrorMaker 2's Filter, on the same records, in one run.

``python -m bench.filtered`` (``make bench BENCH_MODULE=bench.filtered``). Every second record has a
header, and records with it are dropped: ``where`` here, Filter with HasHeaderKey there. Both tools
have filtered as many records when the clock starts; a consumer that reads committed records counts
what is kept. Java compiles what runs often for some million records more, in both tools: with fewer
records than by default the compiler is a large part of the figure. SQL by headers is evaluated once
for each kind of headers; ``--where 'offset % 2 = 0'`` keeps as many records, and is evaluated for
each of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from confluent_kafka import Consumer, TopicPartition

from bench.records.gate import BenchFailed, Dataset, closed_gate
from bench.tools.brokers import running
from bench.tools.running import PARTITIONS, copy_of, started
from bench.tools.tool_config import ISTHMUS, MM2, Tool
from bench.tools.usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.tools.brokers import Brokers
    from bench.tools.running import Running

_CONNECT = "org.apache.kafka.connect.transforms"
_MM2_FILTER = {
    "a->b.transforms": "drop",
    "a->b.transforms.drop.type": f"{_CONNECT}.Filter",
    "a->b.transforms.drop.predicate": "marked",
    "a->b.predicates": "marked",
    "a->b.predicates.marked.type": f"{_CONNECT}.predicates.HasHeaderKey",
    "a->b.predicates.marked.name": "origin",
}
_KEPT = "NOT array_contains(headers.key, 'origin')"
_SQL_FILTER = {"a->b.transform.batch.records": "200000"}
_LIMIT_S = 300.0
_TITLE = "{} records of {} B, half of them dropped:"


@dataclass(frozen=True, slots=True)
class Filtered:
    """What one tool took for the records."""

    title: str
    records: int
    seconds: float
    cpu_s: float

    def __str__(self) -> str:
        rate, per_cpu = self.records / self.seconds, self.records / self.cpu_s
        return f"{self.title}: {rate:,.0f} records/s, {per_cpu:,.0f} records per CPU second"


def main(
    records: Annotated[int, typer.Option(min=1000, help="how many, all partitions")] = 3_000_000,
    size: Annotated[int, typer.Option(min=100, help="bytes of a value")] = 100,
    where: Annotated[str, typer.Option(help="Spark SQL that keeps every second record")] = _KEPT,
) -> None:
    """Measure both tools and print records a second, and a CPU second."""
    sql = {**_SQL_FILTER, "a->b.transform.bench-.*/where": where}
    tools = (
        replace(ISTHMUS, settings={**ISTHMUS.settings, **sql}),
        replace(MM2, settings={**MM2.settings, **_MM2_FILTER}),
    )
    with TemporaryDirectory() as directory, running(Path(directory) / "clusters") as pair:
        found = [_measured(each, pair, Path(directory), records, size) for each in tools]
    typer.echo(_TITLE.format(f"{records:,}", size))
    for each in found:
        typer.echo(f"  {each}")
    ours, theirs = (each.records / each.cpu_s for each in found)
    typer.echo(f"  {ours / theirs:.2f} times as many records per CPU second")


def _measured(tool: Tool, pair: Brokers, place: Path, records: int, size: int) -> Filtered:
    warm, timed = (f"bench-{tool.name}-{each}" for each in ("warm", "timed"))
    pair.create([warm, timed], PARTITIONS)
    with started(tool, pair, place, [warm, timed]) as here:
        for topic in (warm, timed):
            data = Dataset(topic, PARTITIONS, records, size)
            with closed_gate(pair.source, data) as gate:
                before, began = usage(here.process.pid), time.monotonic()
                gate.open()
                _await(here, topic, records // 2)
                seconds = time.monotonic() - began
                spent = usage(here.process.pid).since(before)
    return Filtered(tool.title, records, seconds, spent)


def _await(here: Running, topic: str, kept: int) -> None:
    """Return when so many committed records are in the copy."""
    consumer = Consumer(
        {
            "bootstrap.servers": here.brokers.target,
            "group.id": "bench",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(copy_of(topic), each, 0) for each in range(PARTITIONS)])
    found = sum(1 for _ in _messages(consumer, kept, time.monotonic() + _LIMIT_S))
    consumer.close()
    if found < kept:
        raise BenchFailed(f"{here.tool.title}: {found} of {kept} records of {topic} arrived")


def _messages(consumer: Consumer, most: int, deadline: float) -> Iterator[object]:
    left = most
    while left and time.monotonic() < deadline:
        for message in consumer.consume(min(left, 5000), timeout=0.2):
            if message.error() is None:
                left -= 1
                yield message


if __name__ == "__main__":
    typer.run(main)
