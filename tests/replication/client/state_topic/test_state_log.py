"""State topics that are written over the unit's own connections."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.copier.partition_copies import a_start
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_marker

from replication.client.error_codes import ErrorCode
from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from replication.records.batch import ABORT, COMMIT, TRANSACTIONAL, restamp
from replication.records.codec import encode, plain_record


def test_anchors_of_thousands_of_partitions_go_out_in_batches_that_a_topic_takes():
    cluster, anchors = MemoryCluster(), [a_start(number) for number in range(3000)]
    log = StateLog(cluster, "anchors")
    log.appender.producer = (7, 0)
    asyncio.run(log.append(anchors))
    written = cluster.logs[TopicPartition("anchors", 0)]
    assert max(map(len, written.batches)) < 300_000
    assert [key for key, _ in written.records()] == [each.key() for each in anchors]


def a_written(partition: int, producer: tuple[int, int], bits: int) -> bytes:
    anchor = a_start(partition)
    batch = encode([plain_record(0, anchor.key(), anchor.value())])
    producer_id, sequence = producer
    restamp(batch, producer_id, 0, sequence, bits)
    return bytes(batch)


steps = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["plain", "in", "in", "commit", "abort"])),
    max_size=30,
)


@given(steps, st.data())
def test_of_transactions_that_overlap_what_is_committed_is_read_when_it_is_committed(steps, data):
    cluster = MemoryCluster()
    log, tail = cluster.logs[TopicPartition("anchors", 0)], StateLog(cluster, "anchors")
    expected: list[int] = []
    found: list[int] = []
    undecided: dict[int, list[int]] = {}
    sent: Counter[int] = Counter()

    async def play() -> None:
        for number, (who, what) in enumerate(steps):
            if what == "plain":
                expected.append(number)
                log.append(a_written(number, (10, sent[10]), 0))
                sent[10] += 1
            elif what == "in":
                undecided.setdefault(who, []).append(number)
                log.append(a_written(number, (who, sent[who]), TRANSACTIONAL))
                sent[who] += 1
            else:
                ended = undecided.pop(who, [])
                expected.extend(ended if what == "commit" else [])
                log.append(a_marker(0, who, 0, COMMIT if what == "commit" else ABORT))
            if data.draw(st.booleans()):
                found.extend(each.partition for each in await tail.read_on())
        found.extend(each.partition for each in await tail.read_on())

    asyncio.run(play())
    assert found == expected


def a_position(source: int, producer: tuple[int, int], bits: int) -> bytes:
    """Return a batch with an anchor of one of two partitions at a source offset."""
    anchor = replace(a_start(source % 2), source=source)
    batch = encode([plain_record(0, anchor.key(), anchor.value())])
    restamp(batch, producer[0], 0, producer[1], bits)
    return bytes(batch)


@given(steps, st.data())
def test_of_a_key_the_record_that_stands_last_counts_however_late_its_marker_came(steps, data):
    cluster = MemoryCluster()
    log, tail = cluster.logs[TopicPartition("anchors", 0)], StateLog(cluster, "anchors")
    last: dict[int, int] = {}  # by partition: of what is committed, the position that stands last
    undecided: dict[int, list[int]] = {}
    sent: Counter[int] = Counter()
    found: dict[int, int] = {}

    async def play() -> None:
        for number, (who, what) in enumerate(steps):
            writer = 10 if what == "plain" else who
            if what in {"plain", "in"}:
                bits = 0 if what == "plain" else TRANSACTIONAL
                log.append(a_position(number, (writer, sent[writer]), bits))
                sent[writer] += 1
                undecided.setdefault(writer, []).append(number)
            if what != "in":
                ended = undecided.pop(writer, [])
                for each in ended if what != "abort" else []:
                    last[each % 2] = max(each, last.get(each % 2, -1))
            if what in {"commit", "abort"}:
                log.append(a_marker(0, who, 0, COMMIT if what == "commit" else ABORT))
            if data.draw(st.booleans()):
                found.update({each.partition: each.source for each in await tail.read_on()})
        found.update({each.partition: each.source for each in await tail.read_on()})

    asyncio.run(play())
    assert found == last


def test_an_append_that_the_broker_has_already_is_done():
    """A retry whose first try landed: the broker answers DUPLICATE_SEQUENCE_NUMBER (46)."""
    cluster, first, second = MemoryCluster(), a_start(0), a_start(1)
    log = StateLog(cluster, "anchors")
    log.appender.producer = (7, 0)
    landed = []

    def lands_unheard(_topic: str, batch: bytes) -> int:
        if landed:
            return 0
        landed.append(cluster.logs[log.partition].append(bytes(batch)))
        return ErrorCode.DUPLICATE_SEQUENCE_NUMBER

    cluster.refuse = lands_unheard

    async def both() -> list:
        assert await log.append([first]) == []  # the broker does not say where it is
        return await log.append([second])

    assert asyncio.run(both()) == [(1, 2)]  # under the sequence that follows
    assert [key for key, _ in cluster.logs[log.partition].records()] == [first.key(), second.key()]


def test_after_an_append_with_an_unknown_outcome_the_next_one_is_no_repetition_of_it():
    """The network is gone before the response: another batch of its sequence would be left out."""
    cluster, anchors = MemoryCluster(), [a_start(number) for number in range(4)]
    log = StateLog(cluster, "anchors")
    log.appender.producer = (7, 0)
    landed: list[bytes] = []

    def lands_unheard(_topic: str, batch: bytes) -> int:
        if not landed:
            landed.append(bytes(batch))
            cluster.logs[log.partition].append(landed[0])
            return ErrorCode.REQUEST_TIMED_OUT
        return ErrorCode.DUPLICATE_SEQUENCE_NUMBER if bytes(batch) == landed[0] else 0

    async def gone(_: object) -> None:
        raise ClusterUnavailable("no response in time")

    async def all_of_it() -> list:
        cluster.refuse, refresh, cluster.refresh = lands_unheard, cluster.refresh, gone
        with pytest.raises(ClusterUnavailable):
            await log.append(anchors[:1])
        cluster.refresh = refresh
        return await log.append(anchors[1:3]) + await log.append(anchors[3:])

    assert asyncio.run(all_of_it()) == [(1, 3), (3, 4)]
    written = cluster.logs[log.partition].records()
    assert [key for key, _ in written] == [each.key() for each in anchors]


def test_while_the_broker_throttles_nothing_is_appended():
    cluster, anchor = MemoryCluster(), a_start(0)
    cluster.paused_s = 0.1
    written = cluster.logs[TopicPartition("anchors", 0)]

    async def all_of_it() -> bool:
        appending = asyncio.create_task(StateLog(cluster, "anchors").append([anchor]))
        await asyncio.sleep(0.02)
        was_early = bool(written.batches)
        await appending
        return was_early

    assert not asyncio.run(all_of_it())
    assert [key for key, _ in written.records()] == [anchor.key()]
