"""Keep a process's units, event loop and connections from one epoch to the next.

The loop has its own thread, so that units keep copying between two epochs.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from replication.clock import now_ms
from replication.copier.spec import UnitReport
from replication.copier.takeover.connections import ConnectionPool
from replication.copier.unit import UnitCounters
from replication.copier.unit_groups import UnitGroups

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connect

    ServeEpoch = Callable[[UnitSpec, int], Awaitable[UnitReport | None]]

_LONGEST_EPOCH_S = 45.0  # Spark ends idle Python workers after a minute


class UnitSockets(Protocol):
    """How processes of one machine find the process that copies a unit."""

    async def open(self, spec: UnitSpec, serve: ServeEpoch) -> Callable[[], None] | None:
        """Accept requests for the unit's next epoch; return a close function, None: failed."""

    def request_epoch(self, spec: UnitSpec, here: int) -> UnitReport | None:
        """Request this epoch from the process that copies the unit; wait for its report.

        ``here`` is the number of units that this process copies. None: no process accepted.
        """


@dataclass(slots=True)
class Host:
    """The copier's runtime, one per process: a Spark worker runs epochs of several units."""

    sockets: UnitSockets | None = None
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread | None = None
    _pool: ConnectionPool = field(default_factory=ConnectionPool)
    _unit_groups: dict[tuple[str, int], UnitGroups] = field(default_factory=dict)
    _closing: dict[tuple[str, int], Callable[[], None]] = field(default_factory=dict)  # sockets
    _unreported: dict[tuple[str, int], UnitCounters] = field(default_factory=dict)  # of ended units
    _cpu_reported: float = field(default_factory=time.process_time)

    def copy(self, spec: UnitSpec, connect: Connect) -> UnitReport:
        """Run one unit for one epoch; errors of the unit become the report's outcome.

        A unit that is copied already, in this process or another one, continues there.
        """
        if self.sockets is not None and spec.grace_s > 0 and not self.holds(*_key(spec)):
            report = self.sockets.request_epoch(spec, len(self._unit_groups))
            if report is not None:
                return report
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._copy(spec, connect), self._loop).result()

    def holds(self, flow: str, unit: int) -> bool:
        """Say whether this process copies the unit now, in an epoch or after one."""
        return (flow, unit) in self._unit_groups

    async def _copy(self, spec: UnitSpec, connect: Connect) -> UnitReport:
        started_ms, unit_groups = now_ms(), self._unit_groups.get(_key(spec))
        if unit_groups is None or not await unit_groups.follow(spec):
            if unit_groups is not None:
                await unit_groups.end()
            unit_groups = await self._begin(spec, connect)
        await unit_groups.epoch_over()
        return self._report(unit_groups, spec, started_ms)

    async def _begin(self, spec: UnitSpec, connect: Connect) -> UnitGroups:
        key = _key(spec)
        if self.sockets is not None and spec.grace_s > 0:
            close = await self.sockets.open(spec, lambda spec, n: self._serve(spec, n, connect))
            if close is None:  # another process could not find the unit, so it ends with the epoch
                spec = replace(spec, grace_s=0.0)
            else:
                self._closing[key] = close
        unit_groups = self._unit_groups[key] = UnitGroups(spec, self._on_ended)
        unit_groups.begin(self._pool, connect)
        return unit_groups

    async def _serve(self, spec: UnitSpec, there: int, connect: Connect) -> UnitReport | None:
        """Copy an epoch of a unit of this process for a process that copies ``there`` units.

        None: the unit has ended here, cleanly, and must begin there. So it does if this process
        copies many more units, or if Spark would end it as idle before the epoch ends.
        """
        unit_groups = self._unit_groups.get(_key(spec))
        if unit_groups is None:
            return None
        has_more_units = len(self._unit_groups) > there + 1
        if has_more_units or spec.epoch_s > _LONGEST_EPOCH_S:
            await unit_groups.end()
            return None
        return await self._copy(spec, connect)

    def _on_ended(self, unit_groups: UnitGroups) -> None:
        """Remove a unit; its unreported counts go into the report of its next epoch here."""
        key = _key(unit_groups.spec)
        if self._unit_groups.get(key) is unit_groups:
            del self._unit_groups[key]
        if (close := self._closing.pop(key, None)) is not None:
            close()
        self._unreported[key] = self._unreported.get(key, UnitCounters()).plus(
            unit_groups.new_counts()
        )

    def _report(self, unit_groups: UnitGroups, spec: UnitSpec, started_ms: int) -> UnitReport:
        done = unit_groups.new_counts().plus(self._unreported.pop(_key(spec), UnitCounters()))
        cpu, self._cpu_reported = self._cpu_reported, time.process_time()
        return UnitReport(
            unit=spec.unit,
            epoch=spec.epoch,
            records=done.records,
            bytes=done.bytes,
            cpu_s=self._cpu_reported - cpu,
            started_ms=started_ms,
            ended_ms=now_ms(),
            takeovers=done.takeovers,
            not_running=unit_groups.not_running,
            outcome=unit_groups.outcome,
            at_least_once=unit_groups.at_least_once,
            source_throttled_ms=done.source_throttled_ms,
            target_throttled_ms=done.target_throttled_ms,
            backed_off_to=unit_groups.backed_off_to,
            in_grace=int(not unit_groups.ended),
        )

    def close(self) -> None:
        """End all units, close all connections and the loop. Idempotent."""
        if self._loop.is_closed():
            return
        if self._thread is not None:
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        """End the units, close the pool and await all remaining tasks."""
        await asyncio.gather(*(each.end() for each in list(self._unit_groups.values())))
        await self._pool.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _key(spec: UnitSpec) -> tuple[str, int]:
    return spec.flow, spec.unit


_here: Host | None = None


def copy_epoch(spec: UnitSpec, connect: Connect, sockets: UnitSockets | None = None) -> UnitReport:
    """Copy one unit's partitions for one epoch, with this process' connections.

    ``connect`` makes a network from Java client properties and a client id.
    """
    global _here  # noqa: PLW0603 -- one event loop a process, kept from epoch to epoch
    if _here is None:
        _here = Host(sockets)
        atexit.register(_here.close)
    return _here.copy(spec, connect)
