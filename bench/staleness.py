"""Measures the age of group offsets on the target: Isthmus and MirrorMaker 2, in one run.

``python -m bench.staleness`` lets a group read 1,000 records a second of a topic of each tool and
commit ten times a second, and looks at the target as often. MirrorMaker 2 gets our interval of 5 s
for checkpoints and for group offsets; by default both are 60 s.
"""

from __future__ import annotations

import contextlib
import threading
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.figures import percentile
from bench.threads import working
from bench.tools.brokers import running
from bench.tools.running import copy_of, started
from bench.tools.tool_config import ISTHMUS, MM2, SOURCE, TARGET, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from bench.tools.brokers import Brokers

GROUP = "bench-staleness"
_FLOW = f"{SOURCE}->{TARGET}"
_SYNC = {f"{_FLOW}.sync.group.offsets.enabled": "true"}
_EVERY_5_S = {
    f"{_FLOW}.{key}.interval.seconds": "5"
    for key in ("sync.group.offsets", "emit.checkpoints", "refresh.groups")
}
TOOLS = (
    replace(ISTHMUS, settings={**ISTHMUS.settings, **_SYNC}),
    replace(MM2, settings={**MM2.settings, **_SYNC, **_EVERY_5_S}),
)
_TICK_S = 0.1
_SETTLE_S = 10.0  # after a group's first position on the target


class At(NamedTuple):
    """A position at a moment."""

    moment: float
    offset: int


@dataclass(slots=True)
class Shop:
    """Applications of the source: one writes, a group reads and commits."""

    server: str
    topics: Sequence[str]
    per_second: int
    read: dict[str, list[At]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def open(self) -> AbstractContextManager[None]:
        return working(self._over, self._write, self._read)

    def _write(self) -> None:
        producer, begin, written = Producer(_client(self.server)), time.monotonic(), 0
        while not self._over.is_set():
            due = int((time.monotonic() - begin) * self.per_second)
            for _ in range(due - written):
                for topic in self.topics:
                    producer.produce(topic, b"x" * 100, partition=0)
            written = due
            producer.poll(0)
            time.sleep(0.01)
        producer.flush(10)

    def _read(self) -> None:
        group = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer({**_client(self.server), **group})
        consumer.subscribe(list(self.topics))
        at: dict[str, int] = {}
        due = 0.0
        while not self._over.is_set():
            for each in consumer.consume(2000, 0.02):
                if each.error() is None:
                    at[str(each.topic())] = (each.offset() or 0) + 1
            if at and time.monotonic() >= due:
                places = [TopicPartition(topic, 0, offset) for topic, offset in at.items()]
                consumer.commit(offsets=places, asynchronous=False)
                due = time.monotonic() + _TICK_S
                for topic, offset in at.items():
                    self.read.setdefault(topic, []).append(At(time.monotonic(), offset))
        consumer.close()


def watch(server: str, copies: Sequence[str], seconds: float) -> dict[str, list[At]]:
    """Look at the group's positions on the target for so long."""
    looker = Consumer({**_client(server), "group.id": GROUP})
    seen: dict[str, list[At]] = {each: [] for each in copies}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        now = time.monotonic()
        for each in looker.committed([TopicPartition(copy, 0) for copy in copies], 10):
            if each.offset >= 0:
                seen[each.topic].append(At(now, each.offset))
        time.sleep(_TICK_S)
    looker.close()
    return seen


def judge(read: Sequence[At], seen: Sequence[At]) -> list[tuple[float, int]]:
    """Return for each look how long ago the group stood there, and what it has read since.

    Offsets of the copy equal the source's: nothing else is written to either.
    """
    moments, offsets = [each.moment for each in read], [each.offset for each in read]
    judged = []
    for moment, offset in seen:
        now = bisect_right(moments, moment) - 1
        if now < 0 or moment < seen[0].moment + _SETTLE_S:
            continue
        stood = bisect_left(offsets, offset)
        behind = max(0, offsets[now] - offset)
        judged.append((moment - moments[stood] if behind else 0.0, behind))
    return judged


def _measure(pair: Brokers, place: Path, seconds: float) -> None:
    topics = {each.name: f"bench-{each.name}-staleness" for each in TOOLS}
    pair.create(list(topics.values()), 1)
    with contextlib.ExitStack() as stack:
        for tool in TOOLS:
            stack.enter_context(started(tool, pair, place, [topics[tool.name]]))
        shop = Shop(pair.source, list(topics.values()), 1000)
        with shop.open():
            seen = watch(pair.target, [copy_of(each) for each in topics.values()], seconds)
    for tool in TOOLS:
        topic = topics[tool.name]
        _print(tool, judge(shop.read.get(topic, []), seen[copy_of(topic)]))


def _print(tool: Tool, judged: list[tuple[float, int]]) -> None:
    if not judged:
        typer.echo(f"{tool.title}: the group had no position on the target in time")
        return
    ages, behind = zip(*judged, strict=True)
    typer.echo(
        f"{tool.title}: {percentile(ages, 50):.1f} s old, p99 {percentile(ages, 99):.1f} s; "
        f"{percentile(behind, 50):,.0f} records to read again, p99 {percentile(behind, 99):,.0f}; "
        f"{len(judged)} looks"
    )


def _client(server: str) -> dict[str, object]:
    return {"bootstrap.servers": server, "log_level": 2}


def main(
    seconds: Annotated[float, typer.Option(min=30, help="how long to look")] = 90,
) -> None:
    """Measure both tools at once."""
    with TemporaryDirectory() as directory, running(Path(directory)) as pair:
        _measure(pair, Path(directory), seconds)


if __name__ == "__main__":
    typer.run(main)
