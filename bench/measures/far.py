"""Measures the rate of one partition with a round trip of 100 ms to both clusters."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.records.gate import Dataset, closed_gate
from bench.tools.running import await_copying, copy_of, started
from bench.tools.usage import usage

if TYPE_CHECKING:
    from pathlib import Path

    from bench.figures import Figures
    from bench.tools.brokers import Brokers
    from bench.tools.tool_config import Tool

_ONE_WAY_S = 0.05
_FIRST = 0.2  # of the records: connections and windows are still opening


def far_rate(tool: Tool, brokers: Brokers, place: Path, records: int) -> Figures:
    """Return the records a second of one partition, with the tool's default settings.

    Every connection of the tool to either cluster goes through a proxy that holds each byte back
    for half a round trip; those of the bench do not.
    """
    topic = f"bench-{tool.name}-{place.name}-far"
    tool = tool.untuned()
    first_topic = f"{topic}-first"
    brokers.create([topic, first_topic], 1)
    try:
        with (
            brokers.far(_ONE_WAY_S) as servers,
            started(tool, brokers, place, [topic, first_topic], servers) as here,
            closed_gate(brokers.source, Dataset(topic, 1, records, 1000)) as gate,
        ):
            await_copying(here, first_topic)
            gate.open()
            target = copy_of(topic)
            here.wait_for(target, 1, int(records * _FIRST))
            first, began = here.copied(target, 1), time.monotonic()
            before = usage(here.process.pid)
            here.wait_for(target, 1, records)
            lasted = time.monotonic() - began
            spent = usage(here.process.pid).since(before)
    finally:
        brokers.delete(topic)
    return {"far_rps": (records - first) / lasted, "far_cpu_us": spent / (records - first) * 1e6}
