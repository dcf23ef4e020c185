"""Measures how long copying stops after a unit is killed under load."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

import psutil

from bench.records.gate import BenchFailed, Dataset, closed_gate
from bench.tools.running import PARTITIONS, Running, await_copying, copy_of, started
from bench.tools.usage import members

if TYPE_CHECKING:
    from pathlib import Path

    from bench.figures import Figures
    from bench.tools.brokers import Brokers
    from bench.tools.tool_config import Tool

_WORKER = "spark_jobs.source.worker_daemon"
_BEFORE = 0.25  # of the records are copied before the kill
_STANDS_S = 0.05  # without a new offset: what the brokers had received already is appended
_MORE_THAN_MARKERS = 1000  # offsets: the fence markers of a takeover are a few


def takeover(tool: Tool, brokers: Brokers, place: Path, records: int) -> Figures:
    """Kill the worker at full speed; return the seconds until its successor's records stand.

    That is later than the moment when the position is found, and includes all of it: Spark
    notices, starts the task in another process, which fences, counts and fetches.
    """
    topic = f"bench-{tool.name}-{place.name}-takeover"
    target = copy_of(topic)
    first_topic = f"{topic}-first"
    brokers.create([topic], PARTITIONS)
    brokers.create([first_topic], 1)
    try:
        with (
            started(tool, brokers, place, [topic, first_topic]) as here,
            closed_gate(brokers.source, Dataset(topic, PARTITIONS, records, 1000)) as gate,
        ):
            await_copying(here, first_topic)
            gate.open()
            began = time.monotonic()
            here.wait_for(target, PARTITIONS, int(records * _BEFORE))
            rate = here.copied(target, PARTITIONS) * 1000 / (time.monotonic() - began)
            killed = _kill_worker(here.process.pid)
            there = _when_it_stands_still(here, target, records)
            here.wait_for(target, PARTITIONS, there + _MORE_THAN_MARKERS)
            stood_s = time.monotonic() - killed
            here.wait_for(target, PARTITIONS, records)
    finally:
        brokers.delete(topic)
    return {"takeover_s": stood_s, "takeover_mbs": rate / 1e6}


def _when_it_stands_still(here: Running, target: str, records: int) -> int:
    """Return how many offsets the copy holds when what was on its way has been appended."""
    before, there = -1, here.copied(target, PARTITIONS)
    while there != before:
        if there >= records:
            raise BenchFailed("takeover: copying went on as if nobody had been killed")
        time.sleep(_STANDS_S)
        before, there = there, here.copied(target, PARTITIONS)
    return there


def _kill_worker(session: int) -> float:
    """Kill the Python worker that has used the most CPU time; return when."""
    found = []
    for process in members(session):
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = process.parent()
            if _WORKER in process.cmdline() and parent and _WORKER in parent.cmdline():
                found.append((process.cpu_times().user, process.pid))
    if not found:
        raise BenchFailed("takeover: there is no worker to kill")
    os.kill(max(found)[1], signal.SIGKILL)
    return time.monotonic()
