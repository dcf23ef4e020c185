"""Producers of forwarded records: one per path, registered, claimed before it appends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.copier.append_leases import held
from support.copier.partition_copies import FORWARDED, LOCAL, REGISTRY, fetch
from support.copier.unit_specs import changed
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

from replication.client.fetch_values import FetchBuffer
from replication.client.network import NotGranted
from replication.client.state_topic.state_log import StateLog
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.intake import take
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.produce.producers import Producers
from replication.copier.produce.sender import Sender
from replication.copier.spec import UnitSpec
from replication.copier.start import start
from replication.copier.takeover.connections import new_connections
from replication.errors import FlowTaken
from replication.model import Mode, PartitionPlan, TopicPartition
from replication.records.batch import walk
from replication.state import PRODUCERS_TOPIC, ProducerEntry, anchors_topic

HERE = TopicPartition("t", 0)
FROM_C = ("c",)
SPEC = UnitSpec(
    flow="A->B",
    source_alias="A",
    target_alias="B",
    unit=0,
    generation=1,
    epoch=0,
    partitions=(PartitionPlan(HERE, HERE, origins="producer-id"),),
    source={},
    target={},
)
WEAK = changed(SPEC, delivery=Mode.AT_LEAST_ONCE)
TRANSACTIONAL = replace(SPEC, partitions=(replace(SPEC.partitions[0], mode=Mode.TRANSACTIONAL),))


async def a_started_unit(source_id: str, target: MemoryCluster, spec: UnitSpec = SPEC):
    """Start a unit; return its producers and its partition."""
    source = MemoryCluster(source_id)
    await StateLog(source, PRODUCERS_TOPIC).append(REGISTRY)
    connections = new_connections(spec, source, target, {})
    me, (partition,), _ = await start(spec, connections)
    sender = Sender(target, RecoveryQueue(), AppendGaps(), lease=held())
    return Producers(spec.for_identity(me), connections, [partition], me, sender), partition


async def a_started_partition(source_id: str, target: MemoryCluster, spec: UnitSpec = SPEC):
    """Start a unit that fetches a local record and one from C; return its partition."""
    producers, partition = await a_started_unit(source_id, target, spec)
    batches = a_batch(0, [b"local"], (LOCAL, 0, 0)) + a_batch(1, [b"from c"], (FORWARDED, 0, 0))
    found = fetch(batches, [], 0, 9)
    await producers.prepare([(partition, found)])
    take(partition, found, FetchBuffer())
    return partition


async def records_of(target: MemoryCluster, topic: str = PRODUCERS_TOPIC) -> list:
    return await StateLog(target, topic).read_on()


def test_an_alias_that_names_another_cluster_passes_on_by_other_producers():
    async def two():
        target = MemoryCluster()
        for source_id in ("one", "two"):
            await a_started_partition(source_id, target)
        return {each.transactional_id: each.came_by for each in await records_of(target)}

    assert asyncio.run(two()) == {
        "isthmus.A->B.0": ("one",),
        "isthmus.A->B.0~~c~one": ("c", "one"),
        "isthmus.A->B.0~~two": ("two",),
        "isthmus.A->B.0~~c~two": ("c", "two"),
    }


def test_what_an_earlier_release_passed_on_stays_what_it_is():
    """It named such producers without the source: ``id~c``, and an alias' second cluster too."""

    async def upgraded():
        target = MemoryCluster()
        old = await target.init_producer_id("isthmus.A->B.0~c")
        entry = ProducerEntry(old[0], "A->B", "c", "isthmus.A->B.0~c", via=("c", "former"))
        await StateLog(target, PRODUCERS_TOPIC).append([entry])
        partition = await a_started_partition("one", target)
        return entry, partition.queue.writer.producer_for(FROM_C)[0], await records_of(target)

    entry, present, entries = asyncio.run(upgraded())
    assert entry in entries
    assert [each.came_by for each in entries if each.producer_id == present] == [("c", "one")]


@pytest.mark.parametrize("spec", [SPEC, WEAK, TRANSACTIONAL], ids=["append", "weak", "txn"])
def test_invariant_f_who_passes_on_is_registered_and_claimed_before_it_appends(spec):
    async def claimed():
        target = MemoryCluster()
        partition = await a_started_partition("one", target, spec)
        anchors = await records_of(target, anchors_topic("A"))
        return (
            partition,
            anchors[-1].appenders,
            [each.producer_id for each in await records_of(target)],
        )

    partition, appenders, registered = asyncio.run(claimed())
    theirs = partition.queue.writer.producer_for(FROM_C)[0]
    assert [number for _, number in appenders] == [theirs, partition.queue.writer.producer[0]]
    assert registered == [partition.queue.writer.producer[0], theirs]
    assert [each.path for each in partition.queue.waiting] == [(), FROM_C]


def test_a_unit_without_any_producer_id_passes_on_unnumbered():
    class NoIds(MemoryCluster):
        async def plain_producer_id(self):
            raise NotGranted("no")

    partition = asyncio.run(a_started_partition("one", NoIds(), WEAK))
    sent = []
    for offset in (0, 1):
        producer_batch = partition.queue.next_batch()
        (batch,) = walk(producer_batch.batch)
        sent.append((batch.producer_id, batch.sequence))
        partition.queue.responses_due -= 1
        partition.appended(producer_batch, offset)
    assert sent == [(-1, -1), (-1, -1)]
    assert partition.acked.source == 2


def test_renewing_gives_way_to_a_newer_driver_and_takes_no_epoch_from_it():
    async def renewed():
        target = MemoryCluster()
        producers, partition = await a_started_unit("one", target)
        newer = replace(partition.anchor(0), generation=2)
        await StateLog(target, anchors_topic("A")).append([newer])
        before = target.events.count(("init", "isthmus.A->B.0"))
        with pytest.raises(FlowTaken, match=r"generation 2\) took over t-0"):
            await producers.renew()
        return target.events.count(("init", "isthmus.A->B.0")) - before

    assert asyncio.run(renewed()) == 0


def test_invariant_f_a_renewed_producer_id_is_registered_and_appends_the_anchors():
    """The transactional id expired: the coordinator gives another producer id."""

    async def renewed():
        target = MemoryCluster()
        producers, _ = await a_started_unit("one", target)
        target.expire("isthmus.A->B.0")
        await producers.renew()
        registered = {each.producer_id: each for each in await records_of(target)}
        return producers, registered[producers.me.producer_id]

    producers, entry = asyncio.run(renewed())
    assert producers.me.producer == (900, 0)
    assert (entry.flow, entry.transactional_id) == ("A->B", "isthmus.A->B.0")
    assert producers.connections.takeover.anchors.appender.producer == producers.me.producer
