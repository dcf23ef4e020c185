"""Starts a tool, waits for its copies, times them, and stops it."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.figures import TimedCopy
from bench.records.gate import BenchFailed, Dataset, closed_gate
from bench.tools.tool_config import SOURCE, Tool, command
from bench.tools.usage import end, usage
from replication.adapters.local import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from bench.records.gate import Gate
    from bench.tools.brokers import Brokers

PARTITIONS = 4
_POLL_S = 0.02
_START_S = 120.0
_COPY_S = 300.0
_SOME = 1000  # records


@dataclass(frozen=True, slots=True)
class Running:
    """A running tool, its log and the brokers."""

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

    def copy(self, gate: Gate) -> TimedCopy:
        """Open the gate and time the copying of its records."""
        data, target = gate.data, copy_of(gate.data.topic)
        total = data.records + self.copied(target, data.partitions)
        before, began = usage(self.process.pid), time.monotonic()
        gate.open()
        self.wait_for(target, data.partitions, total)
        seconds = time.monotonic() - began
        return TimedCopy(data.records, data.size, seconds, usage(self.process.pid).since(before))

    def copied(self, target: str, partitions: int) -> int:
        """Return how many offsets the copy holds."""
        return self.brokers.copied(target, partitions)

    def wait_for(self, target: str, partitions: int, total: int) -> None:
        """Wait until the copy holds ``total`` offsets."""
        self.wait(lambda: self.copied(target, partitions) >= total, f"copying {target}", _COPY_S)


@contextlib.contextmanager
def started(
    tool: Tool,
    brokers: Brokers,
    place: Path,
    topics: Sequence[str],
    servers: tuple[str, str] | None = None,
) -> Iterator[Running]:
    """Run a tool until its copies of ``topics`` are there, and until the context ends.

    ``servers`` says where it finds source and target, when that is not where the brokers are.
    """
    log = place / f"{tool.name}.log"
    source, target = servers or (brokers.source, brokers.target)
    if servers is None:
        tool = replace(tool, settings={**tool.settings, **brokers.security})
    process = processes.spawn(command(tool, place, source, target), log)
    try:
        here = Running(tool, brokers, process, log)
        copies = [copy_of(each) for each in topics]
        here.wait(lambda: all(map(brokers.has_copy, copies)), "creating topics", _START_S)
        yield here
    finally:
        end(process.pid)


def await_copying(here: Running, topic: str) -> None:
    """Return when the tool copies: some records of a topic of its own, of one partition, came."""
    with closed_gate(here.brokers.source, Dataset(topic, 1, _SOME, 1000)) as gate:
        here.copy(gate)


def copy_of(topic: str) -> str:
    """Return the name that both tools give the topic's copy."""
    return f"{SOURCE}.{topic}"
