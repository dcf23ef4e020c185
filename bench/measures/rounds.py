"""Measures one tool in one round: start, warm-up, measures, stop; no other tool runs."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import has_settled
from bench.measures.latency import latency
from bench.measures.relay import relay_cost
from bench.records import content
from bench.records.gate import BenchFailed, Dataset, closed_gate
from bench.tools.running import PARTITIONS, Running, copy_of, started
from bench.tools.usage import usage

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from bench.figures import Figures
    from bench.tools.brokers import Brokers
    from bench.tools.tool_config import Tool

_SETTLE_S = 3.0
_QUIET_S = 10.0  # before idle cost: what copying left behind is cleared away by then


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is copied and watched."""

    kilo: int = 1_000_000  # records of 1 KB
    small: int = 4_000_000  # records of 100 B
    warm: int = 1_000_000  # records at a time until more of them make the tool no cheaper
    most_warm: int = 6  # times
    latency_s: float = 95.0  # three of our epochs of 30 s and a bit
    idle_s: float = 35.0  # one epoch and a bit
    far: int = 30_000  # records of 1 KB, over a far network, where MM2's defaults give 750 a second
    takeover: int = 2_000_000  # records of 1 KB, under way when a unit is killed


QUICK = Amounts(300_000, 1_200_000, 500_000, 2, 35.0, 20.0, 15_000, 1_000_000)
_SIZES = {"1k": 1000, "100": 100}


def visit(
    tool: Tool, brokers: Brokers, place: Path, amounts: Amounts, measures: Collection[str]
) -> Figures:
    """Take the measures that a warm tool near its brokers gives. Raises BenchFailed.

    In the first round each copy is compared with its source, record by record.
    """
    prefix = f"bench-{tool.name}-{place.name}"
    topics = [f"{prefix}-{name}" for name in ("live", "warm-1k", "warm-100", "1k", "100")]
    with contextlib.ExitStack() as stack:
        stack.callback(brokers.delete, prefix)
        brokers.create(topics, PARTITIONS)
        with started(tool, brokers, place, topics) as here:
            found: Figures = {}
            for name, size in _SIZES.items():
                _warm(here, f"{prefix}-warm-{name}", size, amounts)
            if "copy" in measures:
                found |= _copies(here, prefix, amounts)
            if "latency" in measures:
                found |= _live(here, topics[0], amounts.latency_s)
            if "idle" in measures:
                found |= _idle(here, amounts.idle_s)
        if "copy" in measures and place.name == "1":
            _compare(tool, brokers, topics[1:])
    return found


def floor(brokers: Brokers, number: int, amounts: Amounts, measures: Collection[str]) -> Figures:
    """Measure what no tool can beat: the bare relay, and a record's way through one broker."""
    found: Figures = {}
    prefix = f"bench-floor-{number}"
    topic, live = f"{prefix}-1k", f"{prefix}-live"
    brokers.create([topic, live], PARTITIONS)
    try:
        if "copy" in measures:
            with closed_gate(
                brokers.source, Dataset(topic, PARTITIONS, amounts.kilo, 1000)
            ) as gate:
                gate.open()
                spent, size = relay_cost(brokers.source, topic, PARTITIONS, amounts.kilo)
            found["cpu_us_1k_relay"] = spent / amounts.kilo * 1e6
            found["wire_bytes_1k"] = size / amounts.kilo
        if "latency" in measures:
            seen = latency(brokers.source, brokers.source, (live, live), min(20, amounts.latency_s))
            found |= {f"{key}_direct": value for key, value in seen.items()}
    finally:
        brokers.delete(prefix)
    return found


def _copies(here: Running, prefix: str, amounts: Amounts) -> Figures:
    """Time a copy of each size."""
    measured: Figures = {}
    for name, records in (("1k", amounts.kilo), ("100", amounts.small)):
        data = Dataset(f"{prefix}-{name}", PARTITIONS, records, _SIZES[name])
        with closed_gate(here.brokers.source, data) as gate:
            time.sleep(_SETTLE_S)
            measured |= here.copy(gate).figures(name)
        measured["rss_mb"] = usage(here.process.pid).rss / 1e6
    return measured


def _warm(here: Running, topic: str, size: int, amounts: Amounts) -> None:
    """Let the tool copy until its CPU cost a record no longer falls: its code is compiled."""
    costs: list[float] = []
    while len(costs) < amounts.most_warm and not has_settled(costs):
        data = Dataset(topic, PARTITIONS, amounts.warm, size)
        with closed_gate(here.brokers.source, data) as gate:
            copied = here.copy(gate)
        costs.append(copied.cpu_s / copied.records)


def _live(here: Running, topic: str, seconds: float) -> Figures:
    """Measure latency and CPU time at a low, even rate."""
    before, began = usage(here.process.pid), time.monotonic()
    pair = (topic, copy_of(topic))
    found = latency(here.brokers.source, here.brokers.target, pair, seconds)
    lasted = time.monotonic() - began
    return {**found, "live_cpu_pct": 100 * usage(here.process.pid).since(before) / lasted}


def _idle(here: Running, seconds: float) -> Figures:
    time.sleep(_QUIET_S)
    before = usage(here.process.pid)
    time.sleep(seconds)
    return {"idle_cpu_pct": 100 * usage(here.process.pid).since(before) / seconds}


def _compare(tool: Tool, brokers: Brokers, topics: list[str]) -> None:
    for topic in topics:
        here, there = (brokers.source, topic), (brokers.target, copy_of(topic))
        if found := content.differences(here, there, PARTITIONS):
            raise BenchFailed(f"{tool.title}'s copy is not equal: {'; '.join(found)}")
