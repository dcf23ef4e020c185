"""Partitions whose records and anchors are committed together, by one producer at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

from support.copier.append_leases import held
from support.copier.partition_copies import (
    FORWARDED,
    LOCAL,
    OURS,
    PASSING_ON,
    a_partition,
    a_start,
    by_registry,
    fetch,
)
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

from replication.client.fetch_values import FetchBuffer
from replication.client.producer_identity import ProducerIdentity
from replication.client.state_topic.state_log import StateLog
from replication.copier.anchor_writer import AnchorWriter
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.copier.partition.intake import take
from replication.copier.partition.position import Position
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.takeover.claims import begin_at
from replication.model import Mode, ProducerIdAndEpoch
from replication.state import anchors_topic, offsets_topic

BORN, FROM_C = (), ("c",)


def a_transactional_partition(*producer_ids: int) -> TransactionalCopy:
    """Return a partition with a record of each producer id of its source waiting."""
    partition = by_registry(a_partition(a_start(), kind=TransactionalCopy))
    partition.exact = True
    log = b"".join(a_batch(n, [b"%d" % n], (each, 0, 0)) for n, each in enumerate(producer_ids))
    take(partition, fetch(log, [], 0, len(producer_ids)), FetchBuffer())
    return partition


def send(partition: TransactionalCopy) -> list[int]:
    """Send all that may be sent, each batch acked; return the producer ids."""
    sent = []
    while partition.sends:
        producer_batch = partition.queue.next_batch()
        sent.append(partition.queue.writer.producer[0])
        partition.queue.responses_due -= 1
        partition.appended(producer_batch, partition.acked.target)
    return sent


def test_records_of_another_way_wait_for_another_transaction():
    partition = a_transactional_partition(LOCAL, FORWARDED, FORWARDED, LOCAL)
    partition.join(BORN, ProducerIdAndEpoch(OURS, 1))
    assert send(partition) == [OURS]
    assert partition.needs_other_producer
    assert partition.drained
    partition.commit()
    assert send(partition) == []
    partition.join(FROM_C, ProducerIdAndEpoch(PASSING_ON, 1))
    assert set(send(partition)) == {PASSING_ON}
    partition.commit()
    partition.join(BORN, ProducerIdAndEpoch(OURS, 1))
    assert send(partition) == [OURS]
    assert partition.acked.source == 4


def test_a_new_epoch_of_a_producer_that_rested_begins_its_sequences_anew():
    partition = a_transactional_partition(FORWARDED)
    partition.join(FROM_C, ProducerIdAndEpoch(PASSING_ON, 5))
    producer_batch = partition.queue.next_batch()
    assert (partition.queue.writer.producer, producer_batch.sequence) == ((PASSING_ON, 5), 0)


def test_no_anchor_is_written_of_a_partition_of_which_it_is_not_known_what_was_committed():
    async def written():
        target = MemoryCluster()
        log = StateLog(target, anchors_topic("A"))
        takeover = SimpleNamespace(anchors=log)
        sender = SimpleNamespace(lease=held())
        anchor_writer = AnchorWriter(
            1.0, StateLog(target, offsets_topic("A")), takeover, None, sender
        )
        doubted, other = a_transactional_partition(LOCAL), a_transactional_partition(LOCAL)
        doubted.join(BORN, ProducerIdAndEpoch(OURS, 1))
        anchor_writer.add([doubted, other])
        await anchor_writer.end_cleanly([doubted, other])
        return len(await StateLog(target, log.topic).read_on())

    assert asyncio.run(written()) == 1


def test_delays_count_once_their_records_are_committed():
    partition = a_transactional_partition(LOCAL)
    partition.join(BORN, ProducerIdAndEpoch(OURS, 1))
    producer_batch = partition.queue.next_batch()
    partition.queue.responses_due -= 1
    partition.counters.delays.note(producer_batch, producer_batch.timestamp + 40)
    partition.appended(producer_batch, 0)
    assert partition.anchor(50).timed == 0, "on its own"
    assert partition.anchor_to_commit(50).timed == 1
    partition.forget()
    assert (partition.anchor(50).timed, partition.anchor(50).latency_ms) == (0, (0, 0, 0)), (
        "aborted"
    )


def test_delays_go_on_from_the_anchor_that_was_committed_last():
    partition = a_transactional_partition()
    committed = replace(
        partition.claimed,
        source=7,
        target=9,
        mode=Mode.TRANSACTIONAL,
        timed=7,
        age_ms=(1, 2, 30),
        latency_ms=(4, 5, 60),
    )
    begin_at(partition, committed, ProducerIdentity("x", OURS, 2, 1))
    assert partition.acked == (7, 9)
    delays = partition.counters.delays
    assert (delays.records, delays.age.total, delays.latency.total) == (7, 30, 60)


def test_until_the_commit_an_anchor_outside_the_transaction_has_the_committed_position():
    partition = a_transactional_partition(LOCAL, LOCAL)
    partition.acked = Position(0, 40)
    partition.join(BORN, ProducerIdAndEpoch(OURS, 1))
    send(partition)
    outside, within = partition.anchor(50), partition.anchor_to_commit(50)
    assert (outside.source, outside.target, outside.records, outside.bytes) == (0, 40, 0, 0)
    assert (within.source, within.target, within.records) == (2, 42, 2)
    partition.commit()
    assert (partition.anchor(50).source, partition.anchor(50).target) == (2, 42)


def test_what_needs_a_takeover_fails_the_transaction_that_the_partition_takes_part_in():
    """At once: the others' batches would wait for an acknowledgement that never comes."""
    partition = a_transactional_partition(LOCAL)
    late = PartitionError(Recovery.TAKE_OVER, "its epoch is over")
    partition.record_error(late)
    assert partition.failed is False, "it takes part in none"
    partition.error = None
    partition.join(BORN, ProducerIdAndEpoch(OURS, 1))
    partition.record_error(PartitionError(Recovery.RETRY, "no leader"))
    assert partition.failed is False, "it may be sent again in time"
    partition.record_error(late)
    assert partition.failed is True
    partition.forget()
    partition.join(BORN, ProducerIdAndEpoch(OURS, 2))
    assert partition.failed is False


def test_what_was_counted_is_skipped_again_after_an_abort():
    """The source is read from the anchor on once more: its first records would be there twice."""
    partition = a_partition(a_start(), kind=TransactionalCopy)
    partition.counted.note(SimpleNamespace(records=2, bytes=20, next_offset=2, last=None))
    partition.join(BORN, ProducerIdAndEpoch(OURS, 1))
    log = b"".join(a_batch(n, [b"%d" % n]) for n in range(3))
    take(partition, fetch(log, [], 0, 3), FetchBuffer())
    assert (send(partition), partition.acked.source) == ([OURS], 3)
    assert (partition.counted.skip, partition.counters.records) == (0, 3)
    partition.forget()
    assert (partition.position, partition.counted.skip, partition.counters.records) == (0, 2, 0)
