"""Two clusters in memory, and the hosts whose units copy from one to the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.client.network import NotGranted
from replication.copier import Host, UnitSpec
from replication.model import PartitionPlan, TopicPartition
from replication.records.codec import encode, plain_record
from replication.state import Anchor, anchors_topic, parse
from support.memory_network import MemoryCluster
from support.record_batches import a_batch
from support.unit_specs import changed

if TYPE_CHECKING:
    from replication.copier import UnitReport

HERE = TopicPartition("orders", 0)


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
    return changed(UnitSpec(**fields), **{"epoch_s": 0.3, "anchor_every_s": 0.05, **more})


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

    def connect(self, properties, _):
        return self.source if properties["bootstrap.servers"] == "a:1" else self.target

    def copy(self, epoch: int = 0, host: Host | None = None, **more) -> UnitReport:
        """Copy one epoch."""
        spec = a_spec(epoch, **{**self._defaults, **more})
        return (host or self.host).copy(spec, self.connect)

    def feed(self, *values: bytes, partition: TopicPartition = HERE) -> None:
        """Append ``values`` to the source, each in a batch of its own."""
        for value in values:
            self.source.logs[partition].append(a_batch(0, [value]))

    def copied(self, partition: TopicPartition = HERE) -> list[bytes]:
        return self.target.logs[partition].values()

    def anchors(self) -> list[Anchor]:
        """Return all anchors that were ever written."""
        return [parse(*each) for each in self._anchor_log().records()]

    def crash(self) -> None:
        """Make the anchors say what they would if the unit had died before its first ack."""
        early = replace(self.anchors()[-1], source=0, target=0, clean=False, records=0, bytes=0)
        self._anchor_log().append(bytes(encode([plain_record(0, early.key(), early.value())])))

    def starts(self) -> int:
        """Return how often a producer epoch was requested."""
        return sum(each[0] == "init" for each in self.target.events)

    def _anchor_log(self):
        return self.target.logs[TopicPartition(anchors_topic("A"), 0)]


async def ungranted(*_: str):
    """Refuse a transactional id, as a cluster whose ACLs do not allow it."""
    raise NotGranted("error 53")
