"""The outcome of a transaction in each partition, as the target's log shows it."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from support.copier.partition_copies import OURS, a_partition, a_start, fill
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch, a_marker

from replication.client.fetch_session import FetchOptions
from replication.copier.partition.position import Position
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.produce import transaction_outcome
from replication.copier.produce.transaction_outcome import (
    AppendedRange,
    TransactionOutcome,
    gap_between,
)
from replication.model import OffsetRange, ProducerIdAndEpoch, TopicPartition
from replication.provenance.origins import LOCAL_ORIGIN
from replication.records.batch import ABORT, COMMIT

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)
US, OTHERS = ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(8, 0)
OLD = ProducerIdAndEpoch(7, 2)


def a_target(**logs: list[tuple]) -> MemoryCluster:
    """Return a target with partitions ``t0`` and ``t1``; entries are (producer, marker or None)."""
    cluster = MemoryCluster()
    for name, entries in logs.items():
        log = cluster.logs[TopicPartition("t", int(name[1:]))]
        for number, (producer, kind) in enumerate(entries):
            if kind is None:
                log.append(a_batch(0, [b"v"], (*producer, number), transactional=True))
            else:
                log.append(a_marker(0, *producer, kind))
            log.sequences.clear()
    return cluster


def aborted(cluster: MemoryCluster, **intervals) -> set[TopicPartition]:
    expected = {TopicPartition("t", int(name[1:])): each for name, each in intervals.items()}
    return asyncio.run(TransactionOutcome(cluster).aborted(US, expected))


@pytest.mark.parametrize(
    ("entries", "is_aborted"),
    [
        pytest.param([(US, None), (US, COMMIT)], False, id="committed"),
        pytest.param([(US, None), (US, ABORT), (US, COMMIT)], True, id="aborted by another"),
        pytest.param([(US, None), (US, COMMIT), (US, ABORT)], False, id="aborted too late"),
        pytest.param(
            [(US, None), (OTHERS, ABORT), (OTHERS, None), (US, COMMIT)], False, id="of others"
        ),
        pytest.param([(US, None), (OLD, ABORT), (US, COMMIT)], False, id="an older epoch"),
    ],
)
def test_the_first_marker_of_ours_behind_what_we_appended_says_how_it_ended(entries, is_aborted):
    cluster = a_target(t0=entries, t1=[(US, None), (US, COMMIT)])
    found = aborted(cluster, t0=AppendedRange(1), t1=AppendedRange(1))
    assert found == ({HERE} if is_aborted else set())


def test_a_marker_that_is_on_its_way_is_waited_for():
    cluster = a_target(t0=[(US, None)])

    async def play() -> set[TopicPartition]:
        looking = asyncio.create_task(
            TransactionOutcome(cluster).aborted(US, {HERE: AppendedRange(1)})
        )
        await asyncio.sleep(0.05)
        assert not looking.done()
        cluster.logs[HERE].append(a_marker(0, *US, ABORT))
        return await looking

    assert asyncio.run(play()) == {HERE}


def test_of_a_topic_that_is_gone_nothing_is_waited_for(monkeypatch):
    monkeypatch.setattr(transaction_outcome, "_TIMEOUT_S", 3600.0)
    monkeypatch.setattr(transaction_outcome, "_PAUSE_S", 0.01)
    cluster = a_target(t0=[(US, None)])
    cluster.hidden = {"t"}
    assert aborted(cluster, t0=AppendedRange(1)) == set()


def test_much_that_others_append_is_read_however_long_it_takes(monkeypatch):
    clock = itertools.count(0, 10)
    monkeypatch.setattr(transaction_outcome.time, "monotonic", lambda: next(clock))
    little = FetchOptions(max_wait_ms=1, partition_bytes=200)
    monkeypatch.setattr(transaction_outcome, "_FIRST", little)
    monkeypatch.setattr(transaction_outcome, "_MORE", little)
    cluster = a_target(t0=[(US, None), *[(OTHERS, None)] * 20, (US, ABORT)])
    assert aborted(cluster, t0=AppendedRange(1)) == {HERE}
    assert len(cluster.asked) > 5


def test_between_our_appends_no_marker_needs_to_be():
    entries = [(US, None), (OTHERS, None), (US, None)]
    cluster = a_target(t0=entries, t1=[(US, None), (US, ABORT), (US, None)])
    assert aborted(cluster, t0=AppendedRange(1, 2), t1=AppendedRange(1, 2)) == {THERE}


@pytest.mark.parametrize(
    ("spans", "gap"),
    [
        ([], None),
        ([(5, 9)], None),
        ([(9, 12), (5, 9)], None),
        ([(9, 12), (13, 14), (14, 15), (20, 21)], AppendedRange(12, 20)),
    ],
)
def test_what_came_between_our_appends_is_the_rest_of_the_interval(spans, gap):
    assert gap_between([OffsetRange(*each) for each in spans]) == gap


def test_a_partition_goes_back_to_before_a_transaction_that_was_aborted_behind_its_back():
    partition = a_partition(a_start(), kind=TransactionalCopy)
    partition.exact = True
    partition.join(LOCAL_ORIGIN, ProducerIdAndEpoch(OURS, 1))
    before = partition.committed
    fill(partition, 3)
    for base in (0, 1):
        partition.appended(partition.queue.next_batch(), base)
        partition.queue.responses_due -= 1
    assert (partition.acked, partition.counters.records, partition.spans) == (
        Position(2, 2),
        2,
        [(0, 1), (1, 2)],
    )
    partition.commit()
    partition.undo(before)
    assert (partition.acked, partition.counters.records, partition.position) == (
        Position(0, 0),
        0,
        0,
    )
    assert (partition.anchor(0).source, partition.anchor(0).records) == (0, 0)
    assert partition.queue.settled
    assert not partition.queue.waiting
