"""Counting the records of a log in which a decision passed over damaged batches."""

from __future__ import annotations

import asyncio
from itertools import chain

import pytest
from support.fakes.segmented_log import LogNetwork, SegmentedLog
from support.records.record_batches import a_batch, unpackable

from replication.errors import CorruptBatch
from replication.model import OffsetRange, TopicPartition
from replication.offsets.counted_log import CountedLog

HERE = TopicPartition("t", 0)
BODY, LENGTH = 80, 8


def a_log() -> SegmentedLog:
    return SegmentedLog(
        [(n * 4, a_batch(n * 4, [b"%d" % each for each in range(4)])) for n in range(10)], 40, 20, 2
    )


def counted(log: SegmentedLog, begin: int = 0, until: int | None = None, *, left_out=()):
    async def offsets() -> list[int]:
        each = CountedLog(LogNetwork(log), HERE, lambda _: True, left_out=left_out)
        return list(chain.from_iterable([span async for span in each.spans(begin, until)]))

    return asyncio.run(offsets())


@pytest.mark.parametrize("begin", [0, 13, 17])
def test_bl_226_a_damaged_batch_that_was_passed_over_is_not_read(begin):
    log = a_log()
    log.damage(4, BODY, b"?")
    found = counted(log, begin, left_out=[OffsetRange(16, 20)])
    assert found == [each for each in range(begin, 40) if not 16 <= each < 20]


def test_bl_226_nor_are_those_behind_it_that_the_broker_does_not_find():
    log = a_log()
    log.damage(4, LENGTH, b"\0\0\0\3")
    found = counted(log, left_out=[OffsetRange(16, 20), OffsetRange(20, 24)])
    assert found == [*range(16), *range(24, 40)]


def test_a_damaged_batch_that_nobody_passed_over_is_an_error():
    log = a_log()
    log.damage(4, BODY, b"?")
    with pytest.raises(CorruptBatch, match="t-0 at offset 16"):
        counted(log, left_out=[OffsetRange(20, 24)])


def test_a_rejected_batch_that_nobody_can_unpack_is_left_out_without_unpacking():
    log = SegmentedLog([(0, unpackable(0, 3)), (3, a_batch(3, [b"d"]))], 4, 10, 1)
    assert counted(log, left_out=[OffsetRange(0, 3)]) == [3]
