"""Produce requests and responses: what is in flight, what is resent, in which order."""

from __future__ import annotations

import asyncio
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.copier.partition_copies import a_partition, a_start, fill
from support.copier.produce_requests import Wire
from support.fakes.memory_network import Log

from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.copier.partition.produce_queue import MAX_IN_FLIGHT
from replication.model import PartitionState

OUT_OF_ORDER, TOO_LARGE, FENCED, TIMED_OUT = 45, 10, 47, 7
NOT_LEADER, NOT_ENOUGH_REPLICAS, UNKNOWN_TOPIC = 6, 19, 3


def sequence(batch: bytes) -> int:
    return struct.unpack_from(">i", batch, 53)[0]


def test_five_requests_are_open_at_most_and_an_answer_makes_room():
    wire = Wire(fill(a_partition(a_start()), 9))
    assert len(wire.open) == MAX_IN_FLIGHT == 5
    wire.answer(0)
    assert len(wire.open) == 5
    assert [sequence(each) for each in wire.batches()] == [1, 2, 3, 4, 5]


def test_five_requests_a_broker_are_open_at_most_however_many_partitions_have_something():
    partitions = [fill(a_partition(a_start(n)), 1) for n in range(9)]
    wire = Wire()
    for partition in partitions:
        wire.sender.lead[partition] = 0
        wire.sender.offer(partition)
        wire.sender.pump()
    assert len(wire.open) == 5
    wire.answer(0)
    assert [len(batches) for _, batches, _ in wire.open] == [1, 1, 1, 1, 4]


def test_a_producer_that_the_target_has_not_yet_acked_sends_one_batch_only():
    wire = Wire(fill(a_partition(a_start()), 4), proven=False)
    assert len(wire.open) == 1
    wire.answer(0)
    assert len(wire.open) == 3


def test_what_was_not_answered_is_sent_again_same_bytes_same_sequence_same_order():
    partition = fill(a_partition(a_start()), 3)
    wire = Wire(partition)
    before = wire.batches()
    for _ in range(3):
        assert not wire.to_recover  # no recovery while a response is outstanding
        wire.fail()
    assert wire.to_recover == [partition]
    assert not wire.open
    wire.resume(partition)
    assert wire.batches() == before[:1]  # alone: the broker may have forgotten our producer
    wire.answer(0, base=0)
    assert wire.batches() == before[1:]
    for base in (1, 2):
        wire.answer(0, base=base)
    assert partition.acked == (3, 3)


def test_a_batch_after_a_pause_is_sent_alone():
    """Between two batches a broker may have been restarted, and have forgotten our producer."""
    partition = fill(a_partition(a_start()), 4)
    for number, each in enumerate(partition.queue.waiting):
        each.fetched_ms = 1000 + number
    wire = Wire(partition)
    for base in range(4):
        wire.answer(0, base=base)
    fill(partition, 3)
    for each in partition.queue.waiting:
        each.fetched_ms = 2004
    wire.resume(partition)
    assert len(wire.open) == 1
    wire.answer(0, base=4)
    assert len(wire.open) == 2


def test_what_was_appended_behind_a_batch_that_was_not_is_not_sent_again():
    """Then the target had forgotten our producer, and would append it a second time."""
    partition = fill(a_partition(a_start()), 2)
    wire = Wire(partition)
    wire.answer(NOT_ENOUGH_REPLICAS)
    wire.answer(0, base=0)
    assert partition.acked == (0, 0)
    assert partition.must_count(now_ms=0)


@pytest.mark.parametrize(
    ("code", "is_in_doubt"),
    [(TIMED_OUT, True), (NOT_LEADER, True), (NOT_ENOUGH_REPLICAS, False), (UNKNOWN_TOPIC, False)],
)
def test_what_may_have_been_appended_is_in_doubt(code, is_in_doubt):
    """Only while the timestamps are young is the target sure to recognize it."""
    partition = fill(a_partition(a_start()), 1)
    wire = Wire(partition)
    (batch,) = partition.queue.in_flight
    wire.answer(code)
    young, old = batch.timestamp + 10_000, batch.timestamp + 10_001
    assert not partition.must_count(young)
    assert partition.must_count(old) is is_in_doubt


def test_a_batch_stays_in_doubt_when_it_is_rejected_later():
    """Its first attempt may have been appended, so its halves must not be."""
    partition = fill(a_partition(a_start()), 1)
    wire = Wire(partition)
    wire.fail()
    wire.resume(partition)
    wire.answer(TOO_LARGE)
    assert not partition.queue.settled


def test_out_of_order_behind_a_failed_one_is_its_consequence_and_is_sent_again_too():
    partition = fill(a_partition(a_start()), 3)
    wire = Wire(partition)
    before = wire.batches()
    wire.answer(TIMED_OUT)
    wire.answer(OUT_OF_ORDER)
    wire.answer(OUT_OF_ORDER)
    assert partition.error is None  # backing off
    assert partition.status.reason
    wire.resume(partition)
    assert wire.batches() == before[:1]
    wire.answer(0)
    assert wire.batches() == before[1:]


def test_out_of_order_with_nothing_failed_before_it_asks_for_counting():
    partition = fill(a_partition(a_start()), 2)
    wire = Wire(partition)
    wire.answer(OUT_OF_ORDER)
    wire.answer(OUT_OF_ORDER)
    assert partition.error.recovery is Recovery.TAKE_OVER
    assert wire.to_recover == [partition]


@pytest.mark.parametrize("codes", [(TIMED_OUT, FENCED), (FENCED, TIMED_OUT)])
def test_the_gravest_of_several_answers_counts(codes):
    partition = fill(a_partition(a_start()), 2)
    wire = Wire(partition)
    for code in codes:
        wire.answer(code)
    assert partition.error.recovery is Recovery.TAKE_OVER


def test_a_refused_partition_is_to_be_halted_and_the_others_go_on():
    bad, good = fill(a_partition(a_start(0)), 1), fill(a_partition(a_start(1)), 7)
    wire = Wire(bad, good)
    wire.answer(TOO_LARGE, 0)
    assert (bad.error.recovery, bad.error.state) == (Recovery.DECIDE, PartitionState.REFUSED)
    assert wire.to_recover == [bad]
    assert good.error is None
    for base in range(1, 7):
        wire.answer(0, base=base)
    assert good.acked.source == 7
    bad.halt(bad.error.state, bad.error.reason)
    assert bad.queue.settled  # it surely did not land


def test_a_target_that_begins_anew_is_noticed_and_nothing_more_is_sent():
    partition = fill(a_partition(a_start()), 3)
    partition.acked = partition.acked._replace(target=100)
    wire = Wire(partition)
    for base in range(3):
        wire.answer(0, base=base)
    assert partition.error.state is PartitionState.TARGET_RESET
    assert not wire.open
    assert partition.acked.target == 100


def test_one_request_carries_one_batch_of_each_partition_topics_side_by_side():
    partitions = [fill(a_partition(a_start(n % 2, "ab"[n // 2])), 2) for n in (0, 2, 1, 3)]
    wire = Wire(*partitions)
    _, batches, _ = wire.open[0]
    assert [(topic, partition) for topic, partition, _ in batches] == [
        ("a", 0), ("a", 1), ("b", 0), ("b", 1),
    ]  # fmt: skip


def test_a_partition_goes_to_the_broker_that_leads_it():
    partitions = [fill(a_partition(a_start(n)), 1) for n in range(2)]
    wire = Wire()
    for node, partition in enumerate(partitions):
        wire.sender.lead[partition] = node
        wire.sender.offer(partition)
    wire.sender.pump()
    assert [(node, batches[0][1]) for node, batches, _ in wire.open] == [(0, 0), (1, 1)]


def test_nothing_is_sent_after_it_was_stopped():
    partition = fill(a_partition(a_start()), 9)
    wire = Wire(partition)
    wire.sender.stopped = True
    while wire.open:
        wire.answer(0)
    assert partition.queue.responses_due == 0
    assert len(partition.queue.waiting) == 4


@given(st.data())
def test_invariant_a_whatever_is_lost_each_batch_lands_once_and_in_order(data):
    count, log = data.draw(st.integers(1, 12)), Log()
    partition = fill(a_partition(a_start()), count)
    wire = Wire(partition, proven=False)
    for _ in range(200):
        if wire.open:
            lost = data.draw(st.sampled_from(["none", "none", "request", "answer"]))
            _serve(wire, log, lost)
        elif partition.retry_at is not None:
            fill(partition, count - partition.position)
            wire.resume(partition)
        else:
            break
    numbers = [int(value.split(b"x")[0]) for value in log.values()]
    assert numbers == list(range(len(numbers)))
    if partition.error is None:
        assert len(numbers) == count
        assert partition.acked == (count, count)


def _serve(wire: Wire, log: Log, lost: str) -> None:
    """Let a broker take the oldest request, which loses itself or its answer."""
    (_, _, batch) = wire.open[0][1][0]
    error, base = (0, -1) if lost == "request" else log.append(batch)
    if lost == "none":
        wire.answer(error, base=base)
    else:
        wire.fail()


def test_out_of_order_in_front_leaves_the_partition_unsettled_whatever_else_failed():
    """Nothing before it failed to land: it may be on the target, so a takeover has to count."""
    partition = fill(a_partition(a_start()), 1)
    wire = Wire(partition)
    partition.record_error(PartitionError(Recovery.RETRY, "the source partition has no leader"))
    wire.answer(OUT_OF_ORDER)
    assert partition.error.recovery is Recovery.TAKE_OVER
    assert not partition.queue.settled


def test_why_a_partition_backs_off_stays_its_reason_until_an_append_is_acked():
    partition = fill(a_partition(a_start()), 2)
    wire = Wire(partition)
    wire.answer(TIMED_OUT)
    wire.answer(TIMED_OUT)
    why = "the request to the target broker timed out"
    assert partition.state_and_reason == (PartitionState.RUNNING, why)
    wire.resume(partition)
    assert partition.state_and_reason == (PartitionState.RUNNING, why)
    wire.answer(0)
    assert partition.state_and_reason == (PartitionState.RUNNING, "")


def test_a_broker_that_throttles_gets_nothing_until_that_is_over_and_others_do():
    """KIP-219. What is sent while a lease holds must not lie here until it does not (W)."""

    async def all_of_it() -> None:
        throttled, other = (fill(a_partition(a_start(n)), 2) for n in range(2))
        wire = Wire()
        wire.sender.lead |= {throttled: 0, other: 1}
        wire.pauses[0] = 0.05
        wire.sender.offer_all([throttled, other])
        assert {node for node, _, _ in wire.open} == {1}
        wire.pauses[0] = 0.02  # the broker throttled us again meanwhile
        await asyncio.sleep(0.06)
        assert {node for node, _, _ in wire.open} == {1}
        wire.pauses.clear()
        deadline = asyncio.get_running_loop().time() + 5
        while len({node for node, _, _ in wire.open}) < 2:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.005)

    asyncio.run(all_of_it())
