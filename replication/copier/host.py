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
    from collections.abc import Callable, Mapping, Sequence

    from replication.copier.network import Network
    from replication.copier.spec import UnitSpec

    Connect = Callable[[Mapping[str, str], str], Network]

_Key = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Group:
    """The partitions of a unit that are copied in one mode."""

    spec: UnitSpec
    unit: Unit | None = None
    outcome: str = "clean"

    @property
    def copied(self) -> tuple[int, int]:
        return self.unit.copied if self.unit else (0, 0)

    @property
    def not_running(self) -> int:
        return self.unit.not_running if self.unit else len(self.spec.partitions)


@dataclass(slots=True)
class Host:
    """One a process: a Spark worker runs unit after unit, not always the same one."""

    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _networks: dict[tuple[bool, _Key], Network] = field(default_factory=dict)
    _flows: dict[tuple[str, _Key, _Key], Clusters] = field(default_factory=dict)

    def copy(self, spec: UnitSpec, connect: Connect) -> UnitReport:
        """Run one unit for one epoch; problems of the unit end up in the report's outcome.

        What is appended and what is transactional run side by side, each with its own producer.
        """
        started_ms, cpu = int(time.time() * 1000), time.process_time()
        groups = [_Group(each) for each in spec.groups()]
        self.loop.run_until_complete(self._run(groups, connect))
        if any(each.outcome != "clean" for each in groups):
            self._flows.clear()  # read everything again: what we knew may be what went wrong
        bad = dict.fromkeys(each.outcome for each in groups if each.outcome != "clean")
        return UnitReport(
            unit=spec.unit,
            epoch=spec.epoch,
            records=sum(each.copied[0] for each in groups),
            bytes=sum(each.copied[1] for each in groups),
            cpu_s=time.process_time() - cpu,
            started_ms=started_ms,
            ended_ms=int(time.time() * 1000),
            takeovers=sum(each.unit.takeovers for each in groups if each.unit),
            not_running=sum(each.not_running for each in groups),
            outcome="; ".join(bad) if bad else "clean",
            at_least_once=sum(each.unit.at_least_once for each in groups if each.unit),
        )

    async def _run(self, groups: Sequence[_Group], connect: Connect) -> None:
        await asyncio.gather(*(self._run_group(each, connect) for each in groups))

    async def _run_group(self, group: _Group, connect: Connect) -> None:
        try:
            group.unit = Unit(group.spec, self._ends(group.spec, connect))
            await group.unit.run()
        except ReplicationError as error:
            group.outcome = str(error)

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
        """Return both ends; the two groups of a unit have connections of their own.

        A connection answers in order, so one group would wait for the long polls of the other.
        """
        name = f"isthmus-{spec.flow}{'-txn' if spec.is_transactional else ''}"
        key = (name, _key(spec.source), _key(spec.target))
        if key not in self._flows:
            source = self._network(spec.source, name, connect)
            target = self._network(spec.target, name, connect)
            self._flows[key] = clusters(spec.flow, source, target, spec.source_alias)
        return self._flows[key]

    def _network(self, properties: Mapping[str, str], name: str, connect: Connect) -> Network:
        key = (name.endswith("-txn"), _key(properties))
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
