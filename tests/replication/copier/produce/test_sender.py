"""Sending and answers: what is on the wire, what is sent again, in which order."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_network import Log
from support.partition_copies import a_lane, a_start, fill

from replication.client.network import Ack
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.broker_errors import Remedy
from replication.copier.partition.produce_queue import MOST_ON_THE_WIRE
from replication.copier.produce.sender import Appending
from replication.copier.recovery_queue import RecoveryQueue
from replication.errors import ClusterUnavailable
from replication.model import PartitionState

OUT_OF_ORDER, TOO_LARGE, FENCED, TIMED_OUT = 45, 10, 47, 7


class NotedQueue(RecoveryQueue):
    """Notes each time that a lane asks for recovery."""

    def __init__(self, noted: list) -> None:
        super().__init__()
        self.noted = noted

    def add(self, lane) -> None:
        self.noted.append(lane)
        super().add(lane)


class Wire:
    """Takes Produce requests and answers them when the test says so."""

    def __init__(self, *lanes, proven: bool = True) -> None:
        self.open: list = []  # (node, batches, answer)
        self.troubled: list = []
        self.appending = Appending(self, NotedQueue(self.troubled), AppendGaps())
        for lane in lanes:
            lane.queue.writer.proven = proven
            self.appending.lead[lane] = 0
            self.appending.offer(lane)
        self.appending.pump()

    def produce(self, node, batches, answer, transactional_id="") -> None:
        self.open.append((node, [(t, p, bytes(b)) for t, p, b in batches], answer))

    def answer(self, *codes: int, base: int = 0) -> list:
        """Answer the oldest request; the last code is that of all further batches."""
        _, batches, answer = self.open.pop(0)
        told = [*codes, *[codes[-1]] * len(batches)]
        answer(
            [Ack(t, p, code, base, "") for (t, p, _), code in zip(batches, told, strict=False)],
            None,
        )
        return batches

    def fail(self) -> list:
        _, batches, answer = self.open.pop(0)
        answer(None, ClusterUnavailable("cut"))
        return batches

    def resume(self, lane) -> None:
        lane.retry_at = None
        self.appending.offer(lane)
        self.appending.pump()

    def batches(self) -> list[bytes]:
        return [batch for _, listed, _ in self.open for _, _, batch in listed]


def sequence(batch: bytes) -> int:
    return struct.unpack_from(">i", batch, 53)[0]


def test_five_requests_are_open_at_most_and_an_answer_makes_room():
    wire = Wire(fill(a_lane(a_start()), 9))
    assert len(wire.open) == MOST_ON_THE_WIRE == 5
    wire.answer(0)
    assert len(wire.open) == 5
    assert [sequence(each) for each in wire.batches()] == [1, 2, 3, 4, 5]


def test_five_requests_a_broker_are_open_at_most_however_many_lanes_have_something():
    lanes = [fill(a_lane(a_start(n)), 1) for n in range(9)]
    wire = Wire()
    for lane in lanes:
        wire.appending.lead[lane] = 0
        wire.appending.offer(lane)
        wire.appending.pump()
    assert len(wire.open) == 5
    wire.answer(0)
    assert [len(batches) for _, batches, _ in wire.open] == [1, 1, 1, 1, 4]


def test_a_producer_that_the_target_has_not_yet_acked_sends_one_batch_only():
    wire = Wire(fill(a_lane(a_start()), 4), proven=False)
    assert len(wire.open) == 1
    wire.answer(0)
    assert len(wire.open) == 3


def test_what_was_not_answered_is_sent_again_same_bytes_same_sequence_same_order():
    lane = fill(a_lane(a_start()), 3)
    wire = Wire(lane)
    before = wire.batches()
    for _ in range(3):
        assert not wire.troubled  # no help while an answer may still come
        wire.fail()
    assert wire.troubled == [lane]
    assert not wire.open
    wire.resume(lane)
    assert wire.batches() == before
    for base in range(3):
        wire.answer(0, base=base)
    assert lane.acked == (3, 3)


def test_out_of_order_behind_a_failed_one_is_its_consequence_and_is_sent_again_too():
    lane = fill(a_lane(a_start()), 3)
    wire = Wire(lane)
    before = wire.batches()
    wire.answer(TIMED_OUT)
    wire.answer(OUT_OF_ORDER)
    wire.answer(OUT_OF_ORDER)
    assert lane.trouble is None  # backing off
    assert lane.reason
    wire.resume(lane)
    assert wire.batches() == before


def test_out_of_order_with_nothing_failed_before_it_asks_for_counting():
    lane = fill(a_lane(a_start()), 2)
    wire = Wire(lane)
    wire.answer(OUT_OF_ORDER)
    wire.answer(OUT_OF_ORDER)
    assert lane.trouble.remedy is Remedy.TAKE_OVER
    assert wire.troubled == [lane]


@pytest.mark.parametrize("codes", [(TIMED_OUT, FENCED), (FENCED, TIMED_OUT)])
def test_the_gravest_of_several_answers_counts(codes):
    lane = fill(a_lane(a_start()), 2)
    wire = Wire(lane)
    for code in codes:
        wire.answer(code)
    assert lane.trouble.remedy is Remedy.TAKE_OVER


def test_a_refused_lane_is_to_be_parked_and_the_others_go_on():
    bad, good = fill(a_lane(a_start(0)), 1), fill(a_lane(a_start(1)), 7)
    wire = Wire(bad, good)
    wire.answer(TOO_LARGE, 0)
    assert (bad.trouble.remedy, bad.trouble.state) == (Remedy.JUDGE, PartitionState.REFUSED)
    assert wire.troubled == [bad]
    assert good.trouble is None
    for base in range(1, 7):
        wire.answer(0, base=base)
    assert good.acked.source == 7
    bad.park(bad.trouble.state, bad.trouble.reason)
    assert bad.queue.settled  # it surely did not land


def test_a_target_that_begins_anew_is_noticed_and_nothing_more_is_sent():
    lane = fill(a_lane(a_start()), 3)
    lane.acked = lane.acked._replace(target=100)
    wire = Wire(lane)
    for base in range(3):
        wire.answer(0, base=base)
    assert lane.trouble.state is PartitionState.TARGET_RESET
    assert not wire.open
    assert lane.acked.target == 100


def test_one_request_carries_one_batch_of_each_lane_topics_side_by_side():
    lanes = [fill(a_lane(a_start(n % 2, "ab"[n // 2])), 2) for n in (0, 2, 1, 3)]
    wire = Wire(*lanes)
    _, batches, _ = wire.open[0]
    assert [(topic, partition) for topic, partition, _ in batches] == [
        ("a", 0), ("a", 1), ("b", 0), ("b", 1),
    ]  # fmt: skip


def test_a_lane_goes_to_the_broker_that_leads_it():
    lanes = [fill(a_lane(a_start(n)), 1) for n in range(2)]
    wire = Wire()
    for node, lane in enumerate(lanes):
        wire.appending.lead[lane] = node
        wire.appending.offer(lane)
    wire.appending.pump()
    assert [(node, batches[0][1]) for node, batches, _ in wire.open] == [(0, 0), (1, 1)]


def test_nothing_is_sent_after_it_was_stopped():
    lane = fill(a_lane(a_start()), 9)
    wire = Wire(lane)
    wire.appending.stopped = True
    while wire.open:
        wire.answer(0)
    assert lane.queue.answers_due == 0
    assert len(lane.queue.waiting) == 4


@given(st.data())
def test_invariant_a_whatever_is_lost_each_batch_lands_once_and_in_order(data):
    count, log = data.draw(st.integers(1, 12)), Log()
    lane = fill(a_lane(a_start()), count)
    wire = Wire(lane, proven=False)
    for _ in range(200):
        if wire.open:
            lost = data.draw(st.sampled_from(["none", "none", "request", "answer"]))
            _serve(wire, log, lost)
        elif lane.retry_at is not None:
            fill(lane, count - lane.position)
            wire.resume(lane)
        else:
            break
    numbers = [int(value.split(b"x")[0]) for value in log.values()]
    assert numbers == list(range(len(numbers)))
    if lane.trouble is None:
        assert len(numbers) == count
        assert lane.acked == (count, count)


def _serve(wire: Wire, log: Log, lost: str) -> None:
    """Let a broker take the oldest request, which loses itself or its answer."""
    (_, _, batch) = wire.open[0][1][0]
    error, base = (0, -1) if lost == "request" else log.append(batch)
    if lost == "none":
        wire.answer(error, base=base)
    else:
        wire.fail()
