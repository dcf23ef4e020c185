"""A position that is found by what stands in the source."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.copier.partition_copies import FORWARDED, LOCAL, a_partition, a_start, without_loops
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

from replication.copier.partition.position import Position
from replication.copier.takeover.content_position import TargetTail, set_position
from replication.records.batch import walk


def test_a_position_is_found_among_copies_that_are_passed_on_before_there_is_a_producer_for_them():
    source, partition = MemoryCluster("source"), a_partition(a_start())
    partition.rules = without_loops()
    for number, producer in enumerate([LOCAL, FORWARDED, FORWARDED, LOCAL]):
        log = source.logs[partition.source]
        log.append(a_batch(0, [b"%d" % number], (producer, 0, number), timestamp=number))
        log.sequences.clear()
    partition.counted.end, partition.topic_id = 9, source.topic_id(partition.source.topic)
    last = a_batch(5, [b"2"], timestamp=2)
    asyncio.run(
        set_position(
            source, partition, TargetTail(last, least=3, most=4, passed="retention took it")
        )
    )
    assert (partition.position, partition.acked) == (3, Position(3, 9))


class Undecided(MemoryCluster):
    """A source with an open transaction from 2 on, of which read_committed shows nothing.

    It shows its leader after a refresh.
    """

    def leader(self, partition):
        return super().leader(partition) if self.events else None

    async def fetch(self, node, entries, options, into):
        found = await super().fetch(node, entries, options, into)
        return [self._shown(each) if options.isolation else each for each in found]

    def _shown(self, found):
        readable = b"".join(b.view for b in walk(found.records) if b.last < 2)
        return found._replace(stable=2, records=memoryview(readable))


@pytest.mark.parametrize(
    ("isolation", "position"), [("read_uncommitted", 4), ("read_committed", 0), ("", 0)]
)
def test_a_position_is_searched_among_what_the_copy_could_read(isolation, position):
    source, partition = Undecided("source"), a_partition(replace(a_start(), isolation=isolation))
    for number in range(5):
        source.logs[partition.source].append(a_batch(0, [b"%d" % number], timestamp=number))
    partition.topic_id = source.topic_id(partition.source.topic)
    last = a_batch(5, [b"3"], timestamp=3)
    asyncio.run(set_position(source, partition, TargetTail(last, least=4, most=5, passed="")))
    assert partition.position == position
    assert ("refresh", "t") in source.events
