"""Two clusters in memory, and the hosts whose units copy from one to the other."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.client.network import NotGranted
from replication.copier.host import Host
from replication.copier.spec import UnitSpec
from replication.model import PartitionPlan, PartitionState, TopicPartition
from replication.records.codec import encode, plain_record
from replication.state import Anchor, anchors_topic, parse
from support.copier.unit_specs import changed
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitReport
    from replication.copier.unit import Unit

HERE = TopicPartition("orders", 0)
_TURN_S, _QUIET_TURNS = 0.005, 6  # longer than the pause between two anchors of ``a_spec``


def a_spec(epoch: int = 0, **more) -> UnitSpec:
    """Return the spec of a unit that copies ``HERE`` from A to B; ``more`` replaces fields."""
    fields = {
        "flow": "A->B",
        "source_alias": "A",
        "target_alias": "B",
        "unit": 0,
        "generation": 1,
        "epoch": epoch,
        "partitions": (PartitionPlan(HERE, HERE),),
        "source": {"bootstrap.servers": "a:1"},
        "target": {"bootstrap.servers": "b:1"},
    }
    return changed(UnitSpec(**fields), **{"epoch_s": 2.0, "anchor_every_s": 0.02, **more})


class TwoClusters:
    """Two clusters; ``defaults`` are fields of each epoch's spec."""

    def __init__(self, **defaults) -> None:
        self.source, self.target = MemoryCluster("a"), MemoryCluster("b")
        self.host = Host()
        self.hosts = [self.host]
        self._defaults = defaults

    def another(self, sockets=None) -> Host:
        """Return the host of another process."""
        self.hosts.append(Host(sockets))
        return self.hosts[-1]

    def close(self) -> None:
        for host in self.hosts:
            host.close()

    def connect(self, properties, _, verify):
        end = self.source if properties["bootstrap.servers"] == "a:1" else self.target
        end.verify = verify
        return end

    def copy(self, epoch: int = 0, host: Host | None = None, **more) -> UnitReport:
        """Copy one epoch: with ``epoch_s`` in ``more`` for so long, else until nothing is to do."""
        host, spec = host or self.host, a_spec(epoch, **{**self._defaults, **more})
        over = threading.Event()
        if "epoch_s" not in more:
            self._end_when_settled(spec, over)
        try:
            return host.copy(spec, self.connect)
        finally:
            over.set()

    def _end_when_settled(self, spec: UnitSpec, over: threading.Event) -> None:
        """Watch the unit of ``spec`` in all hosts: any of them may copy its epoch."""
        for each in self.hosts:
            if not each._loop.is_closed():
                settling = _Settling(spec, each, (self.source, self.target), over)
                each._loop.call_soon_threadsafe(settling.turn)

    def feed(self, *values: bytes, partition: TopicPartition = HERE) -> None:
        """Append ``values`` to the source, each in a batch of its own."""
        for value in values:
            self.source.logs[partition].append(a_batch(0, [value]))

    def copied(self, partition: TopicPartition = HERE) -> list[bytes]:
        return self.target.logs[partition].values()

    def anchors(self) -> list[Anchor]:
        """Return all anchors that were ever written."""
        found = [parse(*each) for each in self._anchor_log().records()]
        return [each for each in found if isinstance(each, Anchor)]

    def crash(self) -> None:
        """Make the anchors say what they would if the unit had died before its first ack."""
        early = replace(self.anchors()[-1], source=0, target=0, clean=False, records=0, bytes=0)
        self._anchor_log().append(bytes(encode([plain_record(0, early.key(), early.value())])))

    def starts(self) -> int:
        """Return how often a producer epoch was requested."""
        return sum(each[0] == "init" for each in self.target.events)

    def _anchor_log(self):
        return self.target.logs[TopicPartition(anchors_topic("A"), 0)]


@dataclass
class _Settling:
    """Ends an epoch after some turns in which no batch came and none was due.

    The loop that copies counts them: a process that gets no CPU time has no turns.
    """

    spec: UnitSpec
    host: Host
    clusters: tuple[MemoryCluster, MemoryCluster]
    over: threading.Event
    quiet: int = 0  # turns
    before: tuple[int, ...] = ()

    def turn(self) -> None:
        if self.over.is_set():
            return
        units, now = self._units(), tuple(len(each.events) for each in self.clusters)
        is_quiet = now == self.before and bool(units) and all(map(self._is_settled, units))
        self.quiet, self.before = self.quiet + 1 if is_quiet else 0, now
        if self.quiet < _QUIET_TURNS:
            asyncio.get_running_loop().call_later(_TURN_S, self.turn)
            return
        for each in units:
            each.epoch_timer.end_epoch()

    def _units(self) -> list[Unit]:
        """Return what copies the epoch in this host now."""
        groups = self.host._unit_groups.get((self.spec.flow, self.spec.unit))
        units = [each.unit for each in groups._groups if each.unit] if groups else []
        timers = [(each, each.epoch_timer) for each in units]
        return [
            unit
            for unit, timer in timers
            if timer.spec.epoch == self.spec.epoch and not timer.over.is_set()
        ]

    def _is_settled(self, unit: Unit) -> bool:
        return unit.started.is_set() and all(map(self._is_done, unit.partitions))

    def _is_done(self, partition: PartitionCopy) -> bool:
        """Return whether all of its source is on the target, or it is halted for good."""
        if partition.state is not PartitionState.RUNNING:
            return partition.retry_at is None
        log = self.clusters[0].logs[partition.source]
        queue, end = partition.queue, min(log.end, partition.end)
        return partition.fetched_to.offset >= end and not (queue.in_flight or queue.waiting)


async def ungranted(*_: str):
    """Refuse a transactional id, as a cluster whose ACLs do not allow it."""
    raise NotGranted("error 53")
