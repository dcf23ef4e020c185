"""Lanes whose records and anchors are committed together: a transaction has one producer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

from support.memory_network import MemoryCluster
from support.partition_copies import (
    LOCAL,
    OURS,
    PASSES,
    PASSING_ON,
    a_lane,
    a_start,
    by_registry,
    fetch,
)
from support.record_batches import a_batch

from replication.client.fetch_values import Frame
from replication.client.producer_identity import Claimant
from replication.client.state_log import StateLog
from replication.copier.anchor_writer import Keeping
from replication.copier.partition.intake import take
from replication.copier.partition.transactional_copy import TransactionalLane
from replication.copier.takeover.claims import begin_at
from replication.model import Mode, ProducerIdAndEpoch
from replication.state import anchors_topic, offsets_topic

BORN, FROM_C = (), ("c",)


def a_transactional_lane(*born: int) -> TransactionalLane:
    """Return a lane with a record of each producer id of its source waiting."""
    lane = by_registry(a_lane(a_start(), kind=TransactionalLane))
    lane.exact = True
    log = b"".join(a_batch(n, [b"%d" % n], (each, 0, 0)) for n, each in enumerate(born))
    take(lane, fetch(log, [], 0, len(born)), Frame())
    return lane


def send(lane: TransactionalLane) -> list[int]:
    """Send all that may be sent, each piece acked; return the producer ids."""
    sent = []
    while lane.sends:
        piece = lane.queue.next_piece()
        sent.append(lane.queue.writer.producer[0])
        lane.queue.answers_due -= 1
        lane.appended(piece, lane.acked.target)
    return sent


def test_records_of_another_way_wait_for_another_transaction():
    lane = a_transactional_lane(LOCAL, PASSES, PASSES, LOCAL)
    lane.join(BORN, ProducerIdAndEpoch(OURS, 1))
    assert send(lane) == [OURS]
    assert lane.turns
    assert lane.drained
    lane.commit()
    assert send(lane) == []
    lane.join(FROM_C, ProducerIdAndEpoch(PASSING_ON, 1))
    assert set(send(lane)) == {PASSING_ON}
    lane.commit()
    lane.join(BORN, ProducerIdAndEpoch(OURS, 1))
    assert send(lane) == [OURS]
    assert lane.acked.source == 4


def test_a_new_epoch_of_a_producer_that_rested_begins_its_sequences_anew():
    lane = a_transactional_lane(PASSES)
    lane.join(FROM_C, ProducerIdAndEpoch(PASSING_ON, 5))
    piece = lane.queue.next_piece()
    assert (lane.queue.writer.producer, piece.sequence) == ((PASSING_ON, 5), 0)


def test_no_anchor_is_written_of_a_lane_of_which_it_is_not_known_what_was_committed():
    async def written():
        target = MemoryCluster()
        log = StateLog(target, anchors_topic("A"))
        takeover = SimpleNamespace(anchors=log)
        keeping = Keeping(1.0, StateLog(target, offsets_topic("A")), takeover, None, None)
        doubted, other = a_transactional_lane(LOCAL), a_transactional_lane(LOCAL)
        doubted.join(BORN, ProducerIdAndEpoch(OURS, 1))
        keeping.keep([doubted, other])
        await keeping.end_cleanly([doubted, other])
        return len(await StateLog(target, log.topic).read_on())

    assert asyncio.run(written()) == 1


def test_delays_count_once_their_records_are_committed():
    lane = a_transactional_lane(LOCAL)
    lane.join(BORN, ProducerIdAndEpoch(OURS, 1))
    piece = lane.queue.next_piece()
    lane.queue.answers_due -= 1
    lane.counters.delays.note(piece, piece.timestamp + 40)
    lane.appended(piece, 0)
    assert lane.anchor(50).timed == 0, "on its own"
    assert lane.anchor_to_commit(50).timed == 1
    lane.forget()
    assert (lane.anchor(50).timed, lane.anchor(50).latency_ms) == (0, (0, 0, 0)), "aborted"


def test_delays_go_on_from_the_anchor_that_was_committed_last():
    lane = a_transactional_lane()
    committed = replace(
        lane.claimed,
        source=7,
        target=9,
        mode=Mode.TRANSACTIONAL,
        timed=7,
        age_ms=(1, 2, 30),
        latency_ms=(4, 5, 60),
    )
    begin_at(lane, committed, Claimant("x", OURS, 2, 1))
    assert lane.acked == (7, 9)
    delays = lane.counters.delays
    assert (delays.records, delays.age.total, delays.latency.total) == (7, 30, 60)
