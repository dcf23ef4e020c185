"""State topics that are written over the unit's own connections."""

from __future__ import annotations

import asyncio

from lanes import a_start
from memory_cluster import MemoryCluster

from replication.copier.logs import StateLog
from replication.model import TopicPartition


def test_anchors_of_thousands_of_partitions_go_out_in_batches_that_a_topic_takes():
    cluster, anchors = MemoryCluster(), [a_start(number) for number in range(3000)]
    log = StateLog(cluster, "anchors", producer=(7, 0))
    asyncio.run(log.append(anchors))
    written = cluster.logs[TopicPartition("anchors", 0)]
    assert max(map(len, written.batches)) < 300_000
    assert [key for key, _ in written.records()] == [each.key() for each in anchors]
