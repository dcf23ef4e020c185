"""Claims of two units on one log: who wins, and when claiming ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from support.copier.partition_copies import a_partition
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch, a_marker

from replication.client.producer_identity import ProducerIdentity
from replication.client.state_topic.state_log import StateLog
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.position import claim
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.takeover import takeover
from replication.copier.takeover.takeover import Takeover
from replication.errors import ClusterRejected, FlowTaken
from replication.model import NO_PRODUCER_ID, Mode
from replication.records.batch import COMMIT, walk
from replication.state import Anchor, ProducerEntry, anchors_topic

CLEAN = Anchor("f", "t", 0, "t", 5, 6, clean=True)


class Side:
    """One unit with its own view of the anchors on ``target``."""

    def __init__(self, target: MemoryCluster, unit: str, generation: int = 1) -> None:
        self.target, self.unit, self.generation = target, unit, generation
        self.log = StateLog(target, anchors_topic("A"))
        self.takeover = Takeover(
            "f", target, self.log, StateLog(target, "registry"), MemoryCluster()
        )

    async def me(self) -> ProducerIdentity:
        producer = await self.target.init_producer_id(self.unit)
        await self.log.own(producer)
        return ProducerIdentity(self.unit, *producer, self.generation)

    async def take(self, kind: type[PartitionCopy] = PartitionCopy):
        """Take the one partition over from its last anchor; return its partition and the count."""
        await self.takeover.read_anchors()
        me = await self.me()
        known = self.takeover.seen.get(a_partition(CLEAN).source, CLEAN)
        partition = a_partition(known, kind=kind)
        return partition, await self.takeover.take([partition], me)


def test_invariant_g_after_a_clean_end_nothing_is_fenced():
    async def both():
        target = MemoryCluster()
        first, second = Side(target, "u0"), Side(target, "u1")
        partition, counted = await first.take()
        await first.log.append([partition.anchor(0, clean=True)])
        return counted, (await second.take())[1], target.logs[partition.target].batches

    assert asyncio.run(both()) == (0, 0, [])


def test_after_an_unclean_end_the_former_appender_is_fenced_before_anything_is_counted():
    async def both():
        target = MemoryCluster()
        await Side(target, "u0").take()
        partition, counted = await Side(target, "u1").take()
        return partition, counted, target.logs[partition.target].batches

    partition, counted, markers = asyncio.run(both())
    assert counted == 1
    assert len(markers) == 2  # of either appender
    assert partition.claimed.appenders == (("u0", 100), ("u1", 101))


def test_until_its_records_are_counted_an_unclean_partition_is_not_fetched_and_a_clean_one_is():
    """What is fetched before would be copied although the target has it."""

    class Watched(MemoryCluster):
        async def fence(self, transactional_id, producer, partitions) -> None:
            seen.append([each.fetches for each in taken])
            await super().fence(transactional_id, producer, partitions)

    seen: list[list[bool]] = []
    taken = [a_partition(replace(CLEAN, partition=n, clean=not n)) for n in range(2)]

    async def take():
        side = Side(Watched(), "u0")
        side.target.logs[taken[1].target].append(a_batch(0, [b"before"] * 6))
        await side.takeover.take(taken, await side.me())

    asyncio.run(take())
    assert seen == [[True, False]]
    assert [each.fetches for each in taken] == [True, True]


class Shortened(MemoryCluster):
    """A cluster whose retention has deleted what stands in topic t before ``first``."""

    first = 0

    async def offset_at(self, partition, timestamp: int) -> int:
        is_start = (partition.topic, timestamp) == ("t", -2)
        return self.first if is_start else await super().offset_at(partition, timestamp)

    async def fetch(self, node, entries, options, into):
        found = await super().fetch(node, entries, options, into)
        is_gone = [e.topic_id == self.topic_id("t") and e.offset < self.first for e in entries]
        return [
            each._replace(error=1) if gone else each
            for each, gone in zip(found, is_gone, strict=True)
        ]


def test_where_retention_deleted_what_is_counted_the_copy_goes_on_behind_its_last_record():
    """Copied again, the first records would be there twice; skipped, the last ones lost."""
    source, target = MemoryCluster("source"), Shortened()
    side = Side(target, "u0")
    side.takeover.source = source
    anchor = Anchor("f", "t", 0, "t", 0, 0, appenders=(("u0", 100),))

    async def take():
        await side.me()  # the former owner, which appends 4 of 8 records
        for number in range(8):
            source.logs[partition.source].append(a_batch(0, [b"%d" % number], timestamp=number))
        for number in range(4):
            batch = a_batch(0, [b"%d" % number], (100, 0, number), timestamp=number)
            target.logs[partition.target].append(batch)
        target.first = 2
        await side.takeover.take([partition], await side.me())

    partition = a_partition(anchor)
    partition.topic_id = source.topic_id("t")
    asyncio.run(take())
    assert (partition.position, partition.acked, partition.exact) == (4, (4, 5), True)
    assert partition.status.remark == (
        "after an unclean shutdown the position 4 was found by content"
    )


def test_invariant_f_the_first_producer_id_of_a_cluster_is_registered_as_well_once():
    async def register():
        target = MemoryCluster()
        side = Side(target, "u0")
        await side.me()
        side.takeover.entries.log.appender.producer = side.log.appender.producer
        for number in (0, 0, NO_PRODUCER_ID, 4):
            await side.takeover.entries.register(ProducerEntry(number, "f", "a", "u0"))
        return await StateLog(target, "registry").read_on()

    assert [each.producer_id for each in asyncio.run(register())] == [0, 4]


def test_an_older_driver_gives_way_to_a_newer_one():
    async def both():
        target = MemoryCluster()
        old, new = Side(target, "u0", 1), Side(target, "u0", 2)
        me = await old.me()
        await new.take()
        await old.takeover.read_new_claims([a_partition(CLEAN)], me)

    with pytest.raises(FlowTaken, match="generation 2"):
        asyncio.run(both())


def test_a_foreign_writer_of_the_same_rank_that_never_gives_way_ends_the_claiming():
    target = MemoryCluster()

    class Stubborn(StateLog):
        """Whatever is appended, a claim of another unit follows it."""

        async def append(self, records) -> None:
            await super().append(records)
            foreign_writer = claim(CLEAN, ProducerIdentity("u9", 900, 0, 1))
            await StateLog(target, self.topic).append([foreign_writer])

    async def take():
        side = Side(target, "u0")
        side.takeover.anchors = side.log = Stubborn(target, side.log.topic)
        async with asyncio.timeout(20):
            await side.take()

    with pytest.raises(ClusterRejected, match="another unit of this driver claims t-0"):
        asyncio.run(take())


def test_what_a_former_producer_id_that_no_marker_stops_lands_meanwhile_is_counted(monkeypatch):
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 0.2)

    async def expired():
        target = MemoryCluster()
        target.logs[a_partition(CLEAN).target].append(a_batch(0, [b"before"] * 6))
        partition, _ = await Side(target, "u0").take()
        ((_, former),) = partition.claimed.appenders
        target.expire("u0")

        async def late() -> None:
            await asyncio.sleep(0.1)
            target.logs[partition.target].append(a_batch(0, [b"late"], (former, 0, 0)))

        landing = asyncio.create_task(late())
        second, _ = await Side(target, "u0", generation=2).take()
        await landing
        (last,) = walk(memoryview(target.logs[partition.target].batches[-1]))
        return second.counted.skip, last.is_control

    assert asyncio.run(expired()) == (1, True)  # it stands before the marker


def test_a_producer_that_the_former_owner_named_before_our_marker_is_fenced_as_well():
    """It has begun to pass copies on while we were about to bar it."""

    class Late(MemoryCluster):
        async def init_producer_id(self, transactional_id: str):
            if transactional_id == "u0" and ("init", "u0") in self.events and self.partition:
                partition, self.partition = self.partition, None
                partition.name_appender("u0~~c", (await self.init_producer_id("u0~~c"))[0])
                await self.former.append([partition.anchor(0)])
            return await super().init_producer_id(transactional_id)

    async def both():
        target = Late()
        first = Side(target, "u0")
        target.partition, _ = await first.take()
        target.former = first.log
        partition, _ = await Side(target, "u1").take()
        log = memoryview(b"".join(target.logs[partition.target].batches))
        barred = {each.producer_id for each in walk(log)}
        return barred, {number for _, number in partition.claimed.appenders}

    barred, listed = asyncio.run(both())
    assert barred == listed
    assert len(listed) == 3


def test_a_producer_that_it_named_for_another_partition_meanwhile_is_fenced_there_too():
    class Late(MemoryCluster):
        late = None

        async def init_producer_id(self, transactional_id: str):
            if transactional_id == "u0" and self.late:
                late, self.late = self.late, None
                await late()
            return await super().init_producer_id(transactional_id)

    async def both():
        target = Late()
        first, second = Side(target, "u0"), Side(target, "u1")
        partitions = [a_partition(replace(CLEAN, partition=number)) for number in range(2)]
        await first.takeover.read_anchors()
        await first.takeover.take(partitions, await first.me())
        forwarding_id = (await target.init_producer_id("u0~~c"))[0]

        async def name(partition) -> None:
            partition.name_appender("u0~~c", forwarding_id)
            await first.log.append([partition.anchor(0)])

        await name(partitions[1])
        await second.takeover.read_anchors()
        theirs = [a_partition(second.takeover.seen[each.source]) for each in partitions]
        me = await second.me()
        target.late = partial(name, partitions[0])
        await second.takeover.take(theirs, me)
        log = memoryview(b"".join(target.logs[partitions[0].target].batches))
        return forwarding_id, {each.producer_id for each in walk(log)}

    forwarding_id, barred = asyncio.run(both())
    assert forwarding_id in barred


def test_a_takeover_waits_for_a_late_marker_in_the_anchors_topic_and_what_it_commits():
    """The former owner's commit was decided; its marker reaches the anchors topic late (T)."""

    class LateMarkers(MemoryCluster):
        late: list[bytes] | None = None  # what stands before our markers

        async def fence(self, transactional_id, producer, partitions) -> None:
            *theirs, anchors = partitions
            await super().fence(transactional_id, producer, theirs)
            self.late = [*(self.late or []), a_marker(0, *producer)]
            asyncio.get_running_loop().call_later(0.05, self.arrive, anchors)

        def arrive(self, anchors) -> None:
            while self.late:
                self.logs[anchors].append(self.late.pop(0))

    async def both():
        target = LateMarkers()
        first = Side(target, "u0")
        await first.log.append([replace(CLEAN, mode=Mode.TRANSACTIONAL)])
        partition, _ = await first.take(TransactionalCopy)
        anchor = replace(partition.anchor(0), source=9, target=12)
        me = ProducerIdentity("u0", *first.log.appender.producer, 1)
        await first.log.append([anchor], within=me)
        target.late = [a_marker(0, *me.producer, COMMIT)]
        taken, _ = await Side(target, "u1").take(TransactionalCopy)
        return taken

    taken = asyncio.run(both())
    assert (taken.acked, taken.position) == ((9, 12), 9)
    assert (taken.exact, taken.error) == (True, None)
