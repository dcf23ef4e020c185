"""What a process keeps from one epoch to the next: the event loop, connections, anchors read."""

from __future__ import annotations

import asyncio
import atexit
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.ends import Clusters, clusters
from replication.copier.spec import UnitReport
from replication.copier.unit import Unit
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.copier.network import Network
    from replication.copier.spec import UnitSpec

    Connect = Callable[[Mapping[str, str], str], Network]

_Key = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Host:
    """One a process: a Spark worker runs unit after unit, not always the same one."""

    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _networks: dict[_Key, Network] = field(default_factory=dict)
    _flows: dict[tuple[str, _Key, _Key], Clusters] = field(default_factory=dict)

    def copy(self, spec: UnitSpec, connect: Connect) -> UnitReport:
        """Run one unit for one epoch; problems of the unit end up in the report's outcome."""
        started_ms, cpu = int(time.time() * 1000), time.process_time()
        unit, outcome = None, "clean"
        try:
            unit = Unit(spec, self._ends(spec, connect))
            self.loop.run_until_complete(unit.run())
        except ReplicationError as error:
            outcome = str(error)
            self._flows.clear()  # read everything again: what we knew may be what went wrong
        records, size = unit.copied if unit else (0, 0)
        return UnitReport(
            unit=spec.unit,
            epoch=spec.epoch,
            records=records,
            bytes=size,
            cpu_s=time.process_time() - cpu,
            started_ms=started_ms,
            ended_ms=int(time.time() * 1000),
            takeovers=unit.takeovers if unit else 0,
            not_running=unit.not_running if unit else len(spec.partitions),
            outcome=outcome,
        )

    def close(self) -> None:
        """Close all connections and the loop; the second time nothing happens."""
        if self.loop.is_closed() or self.loop.is_running():
            return
        self.loop.run_until_complete(self._close_networks())
        self.loop.close()

    async def _close_networks(self) -> None:
        """Close what is open and wait for what it leaves behind, so that nobody finds it later."""
        for network in self._networks.values():
            await network.close()
        self._networks.clear()
        self._flows.clear()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _ends(self, spec: UnitSpec, connect: Connect) -> Clusters:
        key = (spec.flow, _key(spec.source), _key(spec.target))
        if key not in self._flows:
            source = self._network(spec.source, f"isthmus-{spec.flow}", connect)
            target = self._network(spec.target, f"isthmus-{spec.flow}", connect)
            self._flows[key] = clusters(spec.flow, source, target, spec.source_alias)
        return self._flows[key]

    def _network(self, properties: Mapping[str, str], name: str, connect: Connect) -> Network:
        key = _key(properties)
        if key not in self._networks:
            self._networks[key] = connect(properties, name)
        return self._networks[key]


def _key(properties: Mapping[str, str]) -> _Key:
    return tuple(sorted(properties.items()))


_here: Host | None = None


def copy_epoch(spec: UnitSpec, connect: Connect) -> UnitReport:
    """Copy one unit's partitions for one epoch, with this process' connections.

    ``connect`` makes a network from Java client properties and a client id.
    """
    global _here  # noqa: PLW0603 -- one event loop a process, kept from epoch to epoch
    if _here is None:
        _here = Host()
        atexit.register(_here.close)
    return _here.copy(spec, connect)
