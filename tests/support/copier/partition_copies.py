"""Partition copies for tests, with the responses of a source and a target for appends."""

from __future__ import annotations

from functools import partial

from replication.client.fetch_values import FetchBuffer, Fetched
from replication.copier.partition.broker_errors import stuck_as
from replication.copier.partition.intake import take
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.position import Position
from replication.model import PartitionPlan, PartitionState, ProducerIdAndEpoch, TopicPartition
from replication.provenance.origins import ForwardingRule, Origins
from replication.provenance.record_rules import RecordRules
from replication.records.batch import walk
from replication.records.codec import decode, key_and_value
from replication.state import Anchor, ProducerEntry
from support.records.record_batches import a_batch, a_marker

OURS, FOREIGN, PASSING_ON = 7, 8, 9
LOOPING, FORWARDED, LOCAL = 30, 31, 32  # producer ids at the source
REGISTRY = [
    ProducerEntry(LOOPING, "B->A", "b", "isthmus.B->A.0"),
    ProducerEntry(FORWARDED, "C->A", "c", "isthmus.C->A.0"),
]
FAR = 1 << 40  # a high watermark that no test comes near
LARGE = b"x" * 5000  # a value that makes its batch too large to be merged


class Target:
    """A partition as its broker keeps it."""

    def __init__(self) -> None:
        self.log, self.end = b"", 0

    def append(self, batch: bytes, count: int) -> int:
        base = self.end
        self.log += base.to_bytes(8, "big") + bytes(batch[8:])
        self.end += count
        return base

    def foreign(self) -> None:
        self.append(a_batch(0, [b"foreign"], (FOREIGN, 0, 0)), 1)

    def marker(self, epoch: int) -> None:
        for producer in (OURS, PASSING_ON):
            self.append(a_marker(0, producer, epoch), 1)

    def ours(self) -> list[bytes | None]:
        found = [b for b in walk(memoryview(self.log)) if not b.is_control]
        return [
            key_and_value(each)[1]
            for b in found
            if b.producer_id in {OURS, PASSING_ON}
            for each in decode(b)
        ]


def a_start(partition: int = 0, topic: str = "t") -> Anchor:
    return Anchor("f", topic, partition, topic, 0, 0, appenders=(("x", OURS),))


def a_partition(
    anchor: Anchor, epoch: int = 1, kind: type[PartitionCopy] = PartitionCopy
) -> PartitionCopy:
    here = TopicPartition(anchor.topic, anchor.partition)
    topic_id = anchor.topic.encode().ljust(16, b"i")
    partition = kind("f", PartitionPlan(here, here), topic_id, anchor, COPY_ALL)
    partition.acked = Position(anchor.source or 0, anchor.target or 0)
    partition.position = partition.acked.source
    partition.queue.writer.producer = ProducerIdAndEpoch(OURS, epoch)
    partition.state = PartitionState.RUNNING
    partition.counters.records, partition.counters.bytes = anchor.records, anchor.bytes
    partition.status.stuck = stuck_as(anchor)
    return partition


async def _nothing(_ids) -> None:
    """Look nothing up: the registry of these tests is known."""


COPY_ALL = RecordRules(None, _nothing, None)


def without_loops() -> RecordRules:
    """Return rules into the cluster b for records of a source with ``REGISTRY``."""
    origins = Origins()
    origins.learn(REGISTRY)
    return RecordRules(partial(origins.path_of, rule=ForwardingRule("b")), _nothing, None)


def by_registry(partition: PartitionCopy, epoch: int = 1) -> PartitionCopy:
    """Let a partition tell copies, and pass on those that came from C."""
    partition.rules = without_loops()
    partition.name_appender("x~c", PASSING_ON)
    partition.queue.writer.admit(("c",), (PASSING_ON, epoch))
    return partition


def fetch(log: bytes, aborted, position: int, limit: int) -> Fetched:
    """Return what a source with ``log`` answers: at most ``limit`` batches."""
    batches = [bytes(b.view) for b in walk(memoryview(log)) if b.last >= position][:limit]
    return Fetched(
        b"i" * 16, 0, 0, FAR, 0, 0, aborted, -1, memoryview(bytearray(b"".join(batches)))
    )


def fill(partition: PartitionCopy, batches: int) -> PartitionCopy:
    """Let ``partition`` fetch batches of one large record each, so that none are merged."""
    at = partition.position
    log = b"".join(a_batch(at + n, [b"%d" % (at + n) + LARGE]) for n in range(batches))
    take(partition, fetch(log, [], at, batches), FetchBuffer())
    return partition
