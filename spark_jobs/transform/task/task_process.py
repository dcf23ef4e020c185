"""The event loop and the connections of a process that runs tasks of transforms, kept for later."""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import gc
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from replication.adapters.wire import connect
from replication.client.cluster_ids import FlowClusters
from replication.provenance.anchored_producers import AnchoredProducers
from replication.provenance.producer_registry import SourceRegistry

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from replication.client.network import Network
    from spark_jobs.transform.task.work import TaskClusters

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Connected:
    """The networks of a flow's clusters, and what is known of the source's producer ids."""

    source: Network
    target: Network
    registry: SourceRegistry


@dataclass(slots=True)
class TaskProcess:
    """One process' loop; connections by flow. A new password is in a new process only."""

    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _connected: dict[tuple[object, ...], Connected] = field(default_factory=dict)

    def run(self, work: Coroutine[object, object, Found]) -> Found:
        """Run ``work`` to its end; connections that are open stay so."""
        return self._loop.run_until_complete(work)

    async def connected(self, clusters: TaskClusters) -> Connected:
        """Return the connections to a flow's clusters; they connect on first use."""
        key = (
            clusters.flow,
            *(tuple(sorted(e.items())) for e in (clusters.source, clusters.target)),
        )
        if key not in self._connected:
            name = f"isthmus-{clusters.flow}-transform"
            known = FlowClusters(clusters.flow, clusters.source_id, clusters.target_id)
            source = connect(clusters.source, name, known.verify_source)
            target = connect(clusters.target, name, known.verify_target)
            registry = SourceRegistry(source, anchored=AnchoredProducers(source))
            self._connected[key] = Connected(source, target, registry)
        return self._connected[key]

    def close(self) -> None:
        """Close all connections and the loop."""
        if self._loop.is_closed():
            return
        for each in self._connected.values():
            self.run(each.source.close())
            self.run(each.target.close())
        self._connected.clear()
        self.run(asyncio.sleep(0))  # what was cancelled ends
        self._loop.close()


_here: TaskProcess | None = None
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT = 32 << 20  # bytes; glibc takes no larger threshold


def _keep_memory() -> None:
    """Keep memory of columns that was freed for the next ones.

    Given back, the kernel clears its pages each time anew: a quarter of the time of decoding.
    """
    with suppress(OSError, AttributeError):  # another C library decides by itself
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, _KEPT)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT)


def task_process() -> TaskProcess:
    """Return this process' own."""
    global _here  # noqa: PLW0603 -- one loop a process, kept from task to task
    if _here is None:
        gc.collect()
        gc.freeze()  # what is imported by now is never garbage, which Spark looks for in each task
        _keep_memory()
        _here = TaskProcess()
        atexit.register(_here.close)
    return _here
