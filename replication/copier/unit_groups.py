"""Run a unit as two groups, appended and transactional partitions, over its epochs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.unit import Unit, UnitCounters
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connect, ConnectionPool, Connections


@dataclass(slots=True)
class _Group:
    """The partitions of a unit that are copied in one mode."""

    spec: UnitSpec
    unit: Unit | None = None  # None: could not connect to its clusters
    outcome: str = "clean"
    task: asyncio.Task[None] = field(init=False)

    def begin(self, pool: ConnectionPool, connect: Connect) -> None:
        connections = None
        try:
            connections = pool.take(self.spec, connect)
            self.unit = Unit(self.spec, connections)
        except ReplicationError as error:
            self.outcome = str(error)
        self.task = asyncio.create_task(self._run(pool, connections))

    async def _run(self, pool: ConnectionPool, connections: Connections | None) -> None:
        """Copy until the unit has ended; an error becomes the group's outcome."""
        if self.unit is None or connections is None:
            return
        well = False
        try:
            await self.unit.run()
            well = True
        except ReplicationError as error:
            self.outcome = str(error)
        finally:
            pool.give_back(self.spec, connections, well=well)

    async def epoch_over(self) -> None:
        """Wait until the epoch is over; if the unit ends with it, until it has ended."""
        if self.unit is None:
            return
        over = asyncio.create_task(self.unit.epoch_over())
        await asyncio.wait({self.task, over}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        await asyncio.gather(over, return_exceptions=True)
        if self.unit.epoch_timer.ended.is_set() or self.task.done():
            await asyncio.shield(self.task)


@dataclass(slots=True)
class UnitGroups:
    """A unit's groups, which run concurrently, each with its own producer."""

    spec: UnitSpec
    on_ended: Callable[[UnitGroups], None]
    _groups: list[_Group] = field(default_factory=list)

    def begin(self, pool: ConnectionPool, connect: Connect) -> None:
        """Start the groups."""
        self._groups = [_Group(each) for each in self.spec.groups()]
        for each in self._groups:
            each.begin(pool, connect)
            each.task.add_done_callback(self._on_group_ended)

    async def follow(self, spec: UnitSpec) -> bool:
        """Begin the epoch of ``spec`` in the running groups; False: restart the unit."""
        groups = spec.groups()
        units = [each.unit for each in self._groups if each.unit and not each.task.done()]
        if not len(units) == len(groups) == len(self._groups):
            return False
        pairs = zip(units, groups, strict=True)
        self.spec = spec
        return all(await asyncio.gather(*(unit.follow(each) for unit, each in pairs)))

    async def epoch_over(self) -> None:
        """Wait until the epoch is over."""
        await asyncio.gather(*(each.epoch_over() for each in self._groups))

    async def end(self) -> None:
        """End cleanly."""
        for each in self._groups:
            if each.unit is not None:
                each.unit.epoch_timer.end()
        await asyncio.gather(*(each.task for each in self._groups), return_exceptions=True)

    def _on_group_ended(self, _: asyncio.Task[None]) -> None:
        if self.ended:
            self.on_ended(self)

    @property
    def ended(self) -> bool:
        return all(each.task.done() for each in self._groups)

    @property
    def outcome(self) -> str:
        """``clean``, or the errors of the groups."""
        bad = dict.fromkeys(each.outcome for each in self._groups if each.outcome != "clean")
        return "; ".join(bad) if bad else "clean"

    def new_counts(self) -> UnitCounters:
        """Return the counts since the last call."""
        total = UnitCounters()
        for each in self._groups:
            total = total.plus(each.unit.new_counts()) if each.unit is not None else total
        return total

    @property
    def not_running(self) -> int:
        return sum(
            each.unit.not_running if each.unit else len(each.spec.partitions)
            for each in self._groups
        )

    @property
    def backed_off_to(self) -> int:
        return sum(each.unit.backed_off_to for each in self._groups if each.unit)

    @property
    def at_least_once(self) -> int:
        return sum(each.unit.at_least_once for each in self._groups if each.unit)
