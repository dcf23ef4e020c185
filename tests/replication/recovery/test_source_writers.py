"""Who still writes to a source, as far as its batches tell."""

from __future__ import annotations

import asyncio

from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_marker

from replication.client.state_topic.state_log import StateLog
from replication.model import ProducerIdAndEpoch, TopicPartition
from replication.provenance.origins import ForwardingRule
from replication.records.batch import TRANSACTIONAL, restamp
from replication.records.codec import encode, plain_record
from replication.recovery.source_writers import SourceWriters, Writer
from replication.state import PRODUCERS_TOPIC, ProducerEntry

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)
CLIENT, OURS = ProducerIdAndEpoch(7, 2), ProducerIdAndEpoch(9, 0)
RULE = ForwardingRule("id-of-B")


def a_batch(producer: ProducerIdAndEpoch | None, sequence: int = 0, bits: int = 0) -> bytes:
    batch = bytearray(encode([plain_record(1000 + sequence, b"k", b"v")]))
    if producer is not None:
        restamp(batch, *producer, sequence, bits)
    return bytes(batch)


class Source:
    """A source in memory, looked at from the present ends on."""

    def __init__(self, rule: ForwardingRule | None = RULE) -> None:
        self.cluster = MemoryCluster("A")
        self.writers = SourceWriters(self.cluster, dict.fromkeys((ONE, TWO), rule))

    def append(self, where: TopicPartition, batch: bytes) -> None:
        assert self.cluster.logs[where].append(batch)[0] == 0


def looked(scenario) -> None:
    async def run() -> None:
        source = Source()
        log = StateLog(source.cluster, PRODUCERS_TOPIC)
        entry = ProducerEntry(OURS.producer_id, "B->A", "id-of-B", "isthmus.B->A.unit-0")
        await log.append([entry])
        source.append(ONE, a_batch(CLIENT))
        await source.writers.begin([ONE, TWO])
        await scenario(source)

    asyncio.run(run())


def test_only_what_came_since_the_last_look_counts():
    async def scenario(source: Source) -> None:
        assert await source.writers.look() == ()
        source.append(TWO, a_batch(CLIENT))
        assert await source.writers.look() == (Writer(TWO, 7, 2, 0, 1000),)
        assert await source.writers.look() == ()

    looked(scenario)


def test_the_newest_batch_of_each_partition_is_told():
    async def scenario(source: Source) -> None:
        source.append(ONE, a_batch(CLIENT, 1))
        source.append(ONE, a_batch(None))
        source.append(TWO, a_batch(CLIENT))
        found = await source.writers.look()
        assert [each.who for each in found] == [
            "a producer without producer id",
            "producer id 7 epoch 2",
        ]

    looked(scenario)


def test_copies_that_come_home_are_no_clients_and_hide_none():
    async def scenario(source: Source) -> None:
        source.append(ONE, a_batch(OURS))
        assert await source.writers.look() == ()
        source.append(ONE, a_batch(CLIENT, 1))
        for number in range(1, 4):
            source.append(ONE, a_batch(OURS, number))
        (found,) = await source.writers.look()
        assert (found.producer_id, found.offset) == (7, 2)

    looked(scenario)


def test_copies_that_are_passed_on_are_told_with_their_flow():
    async def scenario(source: Source) -> None:
        source.writers.rules = {ONE: ForwardingRule("id-of-C")}
        source.append(ONE, a_batch(OURS))
        (found,) = await source.writers.look()
        assert found.who == "flow B->A"

    looked(scenario)


def test_the_end_of_a_transaction_is_no_record_and_an_open_one_is_a_writer():
    async def scenario(source: Source) -> None:
        source.append(ONE, a_batch(CLIENT, 1, TRANSACTIONAL))
        assert await source.writers.look() != ()
        (found,) = await source.writers.look({ONE: 1, TWO: 0})
        assert (found.open_transaction, found.producer_id, found.offset) == (True, 7, 1)
        source.append(ONE, a_marker(0, *CLIENT))
        assert await source.writers.look({ONE: 3, TWO: 0}) == ()

    looked(scenario)


def test_all_that_stands_behind_given_positions_counts():
    async def scenario(source: Source) -> None:
        source.writers.positions = {ONE: 0, TWO: 0}
        (found,) = await source.writers.look()
        assert found.partition == ONE
        source.writers.positions = {ONE: 1, TWO: 0}
        assert await source.writers.look() == ()

    looked(scenario)
