"""Live records: one process writes them at an even rate, others note how late each one came.

None of them does anything else, and they go before other work of this machine where that is
allowed: what they find late is late. A watcher of the source says how late records are without any
copier; with its count it is known that all of them arrived on the target.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.records.gate import BenchFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_START_S, _ARRIVAL_S, _QUIET_S = 180.0, 30.0, 3.0
_AT_ONCE = 1_000  # records that a watcher takes at a time
_BEFORE_OTHERS = -10  # for nice


class LiveTopic(NamedTuple):
    """A topic on the brokers of one side."""

    servers: str
    name: str
    partitions: int


@dataclass(frozen=True, slots=True)
class LatencySamples:
    """When records were made, in ms since 1970, and how late each of them came, in ms."""

    made: array[float]
    late: array[float]

    def between(self, begin: float, end: float) -> list[float]:
        """Return how late those were that were made between two moments, in s since 1970."""
        both = zip(self.made, self.late, strict=True)
        return [late for made, late in both if begin * 1000 <= made < end * 1000]


@dataclass(slots=True)
class Live:
    """Writes to topics in turn, and watches topics, from ``with`` on until ``end``."""

    written: Sequence[LiveTopic]
    watched: Sequence[LiveTopic]
    rate: int  # records a second, of all topics
    _ends: list[Connection] = field(default_factory=list)
    _processes: list[BaseProcess] = field(default_factory=list)

    def __enter__(self) -> Self:
        for each in self.watched:
            self._start(_watch, each)
        self._start(_write, self.written, self.rate)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._processes:
            each.kill()
            each.join()

    def wait_for_first(self) -> None:
        """Return when all watchers have seen a record. Raises BenchFailed."""
        deadline = time.monotonic() + _START_S
        for end in self._ends[:-1]:
            if not end.poll(max(0.0, deadline - time.monotonic())):
                raise BenchFailed(f"no live record arrived within {_START_S:.0f} s")
            end.recv()

    def end(self) -> list[LatencySamples]:
        """End, and return what each watcher saw; records that are under way are waited for."""
        self._ends[-1].send("")
        self._processes[-1].join(_ARRIVAL_S)
        for each in self._ends[:-1]:
            each.send("")
        return [LatencySamples(*each.recv()) for each in self._ends[:-1]]

    def _start(self, work: Callable[..., None], *given: object) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, *given), daemon=True)
        process.start()
        self._ends.append(ours)
        self._processes.append(process)


def _write(connection: Connection, topics: Sequence[LiveTopic], rate: int) -> None:
    """Write until told to end."""
    _go_before_others()
    options = {"bootstrap.servers": topics[0].servers, "linger.ms": 1, "log_level": 2}
    producer, began, number = Producer(options), time.monotonic(), 0
    while not connection.poll(0):
        due = int((time.monotonic() - began) * rate)
        for each in range(number, due):
            topic = topics[each % len(topics)]
            partition = each // len(topics) % topic.partitions
            producer.produce(topic.name, b"x" * 100, b"k", partition=partition)
        number = due
        producer.poll(0.002)
    producer.flush(_ARRIVAL_S)


def _watch(connection: Connection, topic: LiveTopic) -> None:
    """Note when records came, until told to end and no more come."""
    _go_before_others()
    options = {"bootstrap.servers": topic.servers, "group.id": "bench", "fetch.wait.max.ms": 5}
    consumer = Consumer({**options, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic.name, each, 0) for each in range(topic.partitions)])
    seen = LatencySamples(array("d"), array("d"))
    last, is_over = time.monotonic(), False
    while not is_over or time.monotonic() - last < _QUIET_S:
        first = consumer.poll(0.05)  # consume would wait for so many, or for all of the time
        listed = [] if first is None else [first, *consumer.consume(_AT_ONCE, 0)]
        came_ms = time.time() * 1000
        for each in listed:
            if each.error() is None:
                made = each.timestamp()[1]
                seen.made.append(made)
                seen.late.append(came_ms - made)
                last = time.monotonic()
                if len(seen.made) == 1:
                    connection.send("")
        is_over = is_over or connection.poll(0)
    consumer.close()
    connection.send((seen.made, seen.late))


def _go_before_others() -> None:
    with contextlib.suppress(OSError):  # of the superuser alone
        os.nice(_BEFORE_OTHERS)
