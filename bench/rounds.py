"""One tool's visit: everything is loaded, the tool starts, warms up, is measured, and ends."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import content
from bench.figures import Copy, Figures
from bench.gate import BenchFailed, Dataset, Gate, closed_gate
from bench.latency import latency
from bench.relay import relay_cpu
from bench.tools import SOURCE, Tool, command
from bench.usage import end, usage
from replication.adapters import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench.brokers import Brokers

PARTITIONS = 4
_POLL_S = 0.02
_START_S = 120.0
_COPY_S = 300.0
_SETTLE_S = 3.0


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is copied and watched."""

    kilo: int = 1_000_000  # records of 1 KB
    small: int = 4_000_000  # records of 100 B
    warm_kilo: int = 1_000_000  # copied before; MM2 needs about so many until its code is compiled
    warm_small: int = 1_000_000
    latency_s: float = 15.0
    idle_s: float = 10.0


QUICK = Amounts(300_000, 1_200_000, 600_000, 600_000, latency_s=6.0, idle_s=5.0)


@dataclass(frozen=True, slots=True)
class Visit:
    """A running tool, its topics and the brokers."""

    tool: Tool
    brokers: Brokers
    process: processes.Process
    log: Path

    def wait(self, done: Callable[[], bool], what: str, limit_s: float) -> None:
        """Wait until ``done``. Raises BenchFailed with the end of the tool's log."""
        deadline = time.monotonic() + limit_s
        while not done():
            if not self.process.alive():
                raise self._failed(f"{what}: its process ended")
            if time.monotonic() > deadline:
                raise self._failed(f"{what}: not done in {limit_s:.0f} s")
            time.sleep(_POLL_S)

    def _failed(self, why: str) -> BenchFailed:
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        return BenchFailed(f"{self.tool.title}, {why}; the end of its log:\n{tail}")

    def copy(self, gate: Gate) -> Copy:
        """Open the gate and time the copying of what stands behind it."""
        data, target = gate.data, copy_of(gate.data.topic)
        total = data.records + self.brokers.copied(target, PARTITIONS)
        before, began = usage(self.process.pid).cpu_s, time.monotonic()
        gate.open()
        self.wait(
            lambda: self.brokers.copied(target, PARTITIONS) >= total, f"copying {target}", _COPY_S
        )
        seconds = time.monotonic() - began
        return Copy(data.records, data.size, seconds, usage(self.process.pid).cpu_s - before)


def copy_of(topic: str) -> str:
    """Return what both tools call the topic's copy."""
    return f"{SOURCE}.{topic}"


def visit(tool: Tool, brokers: Brokers, place: Path, amounts: Amounts, *, compare: bool) -> Figures:
    """Measure one tool once. Raises BenchFailed, also when a copy that is compared differs."""
    prefix = f"bench-{tool.name}-{place.name}"
    live = f"{prefix}-live"
    with contextlib.ExitStack() as stack:
        stack.callback(brokers.delete, prefix)
        gates = _load(stack, brokers, prefix, amounts)
        brokers.create([live], PARTITIONS)
        with _started(tool, brokers, place) as here:
            topics = [copy_of(topic) for topic in (live, *(g.data.topic for g in gates.values()))]
            here.wait(lambda: all(map(brokers.has_copy, topics)), "creating topics", _START_S)
            measured = _measure(here, gates, live, amounts)
        if compare:
            _compare(tool, brokers, [gate.data.topic for gate in gates.values()])
    return measured


def floor(brokers: Brokers, number: int, amounts: Amounts) -> Figures:
    """Measure the bare relay once, on the 1 KB records."""
    data = Dataset(f"bench-relay-{number}-1k", PARTITIONS, amounts.kilo, 1000)
    brokers.create([data.topic], PARTITIONS)
    try:
        with closed_gate(brokers.source, data) as gate:
            gate.open()
            spent = relay_cpu(brokers.source, data.topic, PARTITIONS, data.records)
    finally:
        brokers.delete(data.topic)
    return {"cpu_us_1k_relay": spent / data.records * 1e6}


def _load(
    stack: contextlib.ExitStack, brokers: Brokers, prefix: str, amounts: Amounts
) -> dict[str, Gate]:
    """Fill the topics that warm a tool up and those that are timed; all gates stay closed."""
    plan = {
        "warm-1k": (amounts.warm_kilo, 1000),
        "warm-100": (amounts.warm_small, 100),
        "1k": (amounts.kilo, 1000),
        "100": (amounts.small, 100),
    }
    gates = {}
    for name, (records, size) in plan.items():
        data = Dataset(f"{prefix}-{name}", PARTITIONS, records, size)
        brokers.create([data.topic], PARTITIONS)
        gates[name] = stack.enter_context(closed_gate(brokers.source, data))
    return gates


@contextlib.contextmanager
def _started(tool: Tool, brokers: Brokers, place: Path) -> Iterator[Visit]:
    log = place / f"{tool.name}.log"
    process = processes.spawn(command(tool, place, brokers.source, brokers.target), log)
    try:
        yield Visit(tool, brokers, process, log)
    finally:
        end(process.pid)


def _measure(here: Visit, gates: dict[str, Gate], live: str, amounts: Amounts) -> Figures:
    for name in ("warm-1k", "warm-100"):
        here.copy(gates[name])
    measured: Figures = {}
    for name in ("1k", "100"):
        time.sleep(_SETTLE_S)
        measured |= here.copy(gates[name]).figures(name)
        measured["rss_mb"] = usage(here.process.pid).rss / 1e6
    pair = (live, copy_of(live))
    measured |= latency(here.brokers.source, here.brokers.target, pair, amounts.latency_s)
    time.sleep(_SETTLE_S)
    before = usage(here.process.pid).cpu_s
    time.sleep(amounts.idle_s)
    used = usage(here.process.pid).cpu_s - before
    return {**measured, "idle_cpu_pct": 100 * used / amounts.idle_s}


def _compare(tool: Tool, brokers: Brokers, topics: list[str]) -> None:
    for topic in topics:
        here, there = (brokers.source, topic), (brokers.target, copy_of(topic))
        if found := content.differences(here, there, PARTITIONS):
            raise BenchFailed(f"{tool.title}'s copy is not equal: {'; '.join(found)}")
