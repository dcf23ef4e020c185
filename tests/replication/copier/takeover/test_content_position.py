"""A position that is found by what stands in the source."""

from __future__ import annotations

import asyncio

from support.memory_network import MemoryCluster
from support.partition_copies import LOCAL, PASSES, REGISTRY, a_lane, a_start
from support.record_batches import a_batch

from replication.copier.partition.position import Position
from replication.copier.takeover.content_position import Tail, settle
from replication.provenance.origins import Origins, Rule


def test_a_position_is_found_among_copies_that_are_passed_on_before_there_is_a_producer_for_them():
    source, lane, origins = MemoryCluster("source"), a_lane(a_start()), Origins()
    origins.learn(REGISTRY)
    lane.passage = lambda producer_id: origins.passage(producer_id, Rule("b"))
    for number, producer in enumerate([LOCAL, PASSES, PASSES, LOCAL]):
        log = source.logs[lane.source]
        log.append(a_batch(0, [b"%d" % number], (producer, 0, number), timestamp=number))
        log.sequences.clear()
    lane.counted, lane.topic_id = 9, source.topic_id(lane.source.topic)
    last = a_batch(5, [b"2"], timestamp=2)
    asyncio.run(settle(source, lane, Tail(last, least=3, most=4, passed="retention took it")))
    assert (lane.position, lane.acked) == (3, Position(3, 9))
