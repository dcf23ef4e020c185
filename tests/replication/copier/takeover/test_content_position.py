"""A position that is found by what stands in the source."""

from __future__ import annotations

import asyncio

from support.memory_network import MemoryCluster
from support.partition_copies import FORWARDED, LOCAL, REGISTRY, a_partition, a_start
from support.record_batches import a_batch

from replication.copier.partition.position import Position
from replication.copier.takeover.content_position import TargetTail, set_position
from replication.provenance.origins import Origins, Rule


def test_a_position_is_found_among_copies_that_are_passed_on_before_there_is_a_producer_for_them():
    source, partition, origins = MemoryCluster("source"), a_partition(a_start()), Origins()
    origins.learn(REGISTRY)
    partition.path_of = lambda producer_id: origins.path_of(producer_id, Rule("b"))
    for number, producer in enumerate([LOCAL, FORWARDED, FORWARDED, LOCAL]):
        log = source.logs[partition.source]
        log.append(a_batch(0, [b"%d" % number], (producer, 0, number), timestamp=number))
        log.sequences.clear()
    partition.counted, partition.topic_id = 9, source.topic_id(partition.source.topic)
    last = a_batch(5, [b"2"], timestamp=2)
    asyncio.run(
        set_position(
            source, partition, TargetTail(last, least=3, most=4, passed="retention took it")
        )
    )
    assert (partition.position, partition.acked) == (3, Position(3, 9))
