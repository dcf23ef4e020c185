"""A batch that is damaged on the source: no record is lost silently, and how far a skip goes."""

from __future__ import annotations

import asyncio
import struct
from functools import cache

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from support.copier.partition_copies import a_partition, a_start
from support.fakes.segmented_log import LogNetwork, SegmentedLog
from support.records.record_batches import a_batch, unpackable

from replication.client.error_codes import ErrorCode
from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.copier.fetch.damaged_batch import DamagedBatch
from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.intake import take
from replication.copier.partition.refused_batches import jump
from replication.errors import ClusterRejected, CorruptBatch
from replication.model import EARLIEST_LOCAL_TIMESTAMP, OffsetRange, PartitionState, TopicPartition
from replication.records.batch import walk
from replication.records.codec import decode, key_and_value

SIZE = 10  # records of a batch
PARTITION = TopicPartition("t", 0)
BASE, LENGTH, EPOCH, MAGIC, CHECKSUM, DELTA, BODY = 0, 8, 12, 16, 17, 23, 80


@cache
def a_numbered_batch(number: int) -> tuple[int, bytes]:
    first = number * SIZE
    return first, a_batch(first, [b"%d" % each for each in range(first, first + SIZE)])


def a_log(batches: int = 30, per_segment: int = 12, per_entry: int = 4) -> SegmentedLog:
    listed = [a_numbered_batch(each) for each in range(batches)]
    return SegmentedLog(listed, batches * SIZE, per_segment, per_entry)


def damaged(batch: int, at: int, new: bytes, **shape: int) -> SegmentedLog:
    log = a_log(**shape)
    log.damage(batch, at, new)
    return log


def plus(log: SegmentedLog, batch: int, at: int, form: str, more: int) -> bytes:
    (value,) = struct.unpack(form, log.bytes_of(batch, at, struct.calcsize(form)))
    return struct.pack(form, value + more)


def examine(log: SegmentedLog, position: int, *, was_seen: bool = True):
    partition = a_partition(a_start())
    partition.position = position
    partition.source_log.unread = position if was_seen else None
    return asyncio.run(DamagedBatch(LogNetwork(log), partition, committed=False).error())


class Copy:
    """Copies a log as the fetcher does: what cannot be read for long is looked at, and skipped."""

    def __init__(self, log: SegmentedLog, most: int) -> None:
        self.network, self.partition = LogNetwork(log), a_partition(a_start())
        self.network.most = most
        self.values: list[bytes | None] = []
        self.lost: list[OffsetRange] = []

    def run(self) -> None:
        partition, end = self.partition, self.network.replicas[0].end
        while partition.position < end:
            before = partition.position
            entry = FetchEntry(b"i" * 16, 0, before)
            found = self.network.answer(0, entry, 0)
            try:
                take(partition, found, FetchBuffer())
            except CorruptBatch as error:
                partition.source_log.unread = max(partition.position, error.offset or 0)
            self._send()
            if partition.position == before and not self._skip(end):
                return

    def _send(self) -> None:
        while self.partition.queue.waiting:
            sent = self.partition.queue.next_batch()
            (batch,) = walk(sent.batch)
            assert len(sent.offsets) == batch.count
            self.values += [key_and_value(each)[1] for each in decode(batch)]
            self.partition.appended(sent, self.partition.acked.target)

    def _skip(self, end: int) -> bool:
        self.network.most, most = None, self.network.most
        error = asyncio.run(DamagedBatch(self.network, self.partition, committed=False).error())
        self.network.most = most
        assert error is not None, "it can be read, and was not taken"
        assert error.state is PartitionState.SOURCE_CORRUPT
        if error.lost is None:
            self.lost.append(OffsetRange(self.partition.position, end))
            return False
        assert error.lost == (self.partition.position, error.resume)
        self.lost.append(error.lost)
        jump(self.partition, error.resume)
        return True


def the_offsets(lost) -> list[int]:
    return [offset for first, after in lost for offset in range(first, after)]


@pytest.mark.parametrize(
    ("at", "new"),
    [
        pytest.param(BODY, b"?", id="body"),
        pytest.param(BODY, b"?" * 30, id="much of the body"),
        pytest.param(CHECKSUM, b"\0\0\0\0", id="checksum"),
        pytest.param(DELTA, struct.pack(">i", 3), id="fewer offsets"),
        pytest.param(MAGIC, b"\x09", id="unknown magic"),
        pytest.param(MAGIC, b"\x01", id="the magic of a former format"),
        pytest.param(BASE, struct.pack(">q", 3), id="a base offset before it"),
    ],
)
def test_bl_226_exactly_the_damaged_batch_is_named(at, new):
    error = examine(damaged(14, at, new), 140)
    assert (error.recovery, error.state) == (Recovery.DECIDE, PartitionState.SOURCE_CORRUPT)
    assert (error.lost, error.resume) == ((140, 150), 150)
    assert error.reason.startswith("the source's offsets [140, 150) are damaged: ")
    assert "t-0 at offset 1" in error.reason


def test_bl_226_a_last_batch_of_the_log_ends_where_its_header_says():
    error = examine(damaged(29, BODY, b"?"), 290)
    assert error.lost == (290, 300)


def test_a_good_batch_has_no_error():
    assert examine(a_log(), 140) is None
    assert examine(a_log(), 140, was_seen=False) is None
    assert examine(a_log(), 300) is None


@pytest.mark.parametrize(
    ("at", "new", "cause"),
    [
        (LENGTH, 3, "error 2 (CORRUPT_MESSAGE)"),
        (LENGTH, 0x7F000000, "the next one that the source returns begins at 240"),
        (LENGTH, 5000, "the next one that the source returns begins at 240"),
        (DELTA, 1000, "the checksum does not match"),
        (BASE + 4, 1000, "a batch up to 1009 after a gap, and the next one begins at 140"),
        (BASE + 4, 194, "a batch up to 203 after a gap, and the next one begins at 140"),
    ],
)
def test_bl_226_behind_a_senseless_header_the_broker_finds_the_next_entry_of_its_index(
    at, new, cause
):
    log = damaged(13, at, struct.pack(">i", new))
    error = examine(log, 130)
    assert error.lost == (130, 160)  # each fourth batch has an entry
    assert cause in error.reason
    assert examine(log, 160) is None


@pytest.mark.parametrize("size", [3, 0x7F000000])
def test_bl_226_what_has_nothing_readable_behind_it_cannot_be_skipped_yet(size):
    error = examine(damaged(28, LENGTH, struct.pack(">i", size)), 280)
    assert (error.recovery, error.state) == (Recovery.DECIDE, PartitionState.SOURCE_CORRUPT)
    assert (error.lost, error.resume) == (None, None)
    assert "no later batch can be read either" in error.reason


def test_bl_226_a_log_that_ends_with_an_endless_batch_is_not_silent():
    error = examine(damaged(29, LENGTH, b"\x7f"), 290, was_seen=False)
    assert error.reason.startswith("the source has offsets up to 300, and returns nothing from 290")


class Refusing(LogNetwork):
    """Answers all offsets before ``until`` with an error."""

    def __init__(self, log: SegmentedLog, error: int, until: int) -> None:
        super().__init__(log)
        self.refused = error, until

    def answer(self, node, entry, most):
        error, until = self.refused
        found = super().answer(node, entry, most)
        if entry.offset < until:
            return found._replace(error=error, high_watermark=-1, records=memoryview(b""))
        return found


@pytest.mark.parametrize("code", [-1, 2, 87])
def test_an_error_that_ends_at_an_offset_is_damage_up_to_there(code):
    partition = a_partition(a_start())
    partition.position = 50
    network = Refusing(a_log(), code, 170)
    error = asyncio.run(DamagedBatch(network, partition, committed=False).error())
    assert error.lost == (50, 170)
    assert ErrorCode(code).name in error.reason


@pytest.mark.parametrize(
    ("code", "recovery"), [(-1, Recovery.RETRY), (2, Recovery.DECIDE), (56, Recovery.RETRY)]
)
def test_an_error_of_all_offsets_is_no_damage_unless_the_broker_says_so(code, recovery):
    partition = a_partition(a_start())
    network = Refusing(a_log(), code, 1000)
    error = asyncio.run(DamagedBatch(network, partition, committed=False).error())
    assert error.recovery is recovery
    assert error.lost is None


def test_records_that_cannot_be_unpacked_are_damage_with_a_right_checksum():
    log = SegmentedLog([(0, unpackable(0, 2)), (2, a_batch(2, [b"c"]))], 3, 10, 4)
    error = examine(log, 0)
    assert error.lost == (0, 2)
    assert "decompressing code 1" in error.reason


# Not the base offset: only the batch behind shows that it is too high, where a Fetch returns both.
flips = st.tuples(st.integers(LENGTH, 120), st.integers(1, 255))


@settings(max_examples=200, deadline=None)
@given(
    batch=st.integers(1, 29),
    flip=flips,
    most=st.sampled_from([900, 3000, 1 << 20]),
    shape=st.tuples(st.integers(3, 30), st.integers(1, 6)),
)
@example(batch=14, flip=(7, 64), most=1 << 20, shape=(12, 4))  # a base offset 64 too high
@example(batch=14, flip=(8, 127), most=3000, shape=(12, 4))  # a length beyond the segment
@example(batch=5, flip=(11, 200), most=900, shape=(12, 4))
def test_no_damaged_byte_loses_or_repeats_a_record_silently(batch, flip, most, shape):
    at, bits = flip
    # A Fetch ends with a segment, and its broker passes over a first batch that seems to end before
    # it begins: what such a batch lacks is unseen.
    assume(batch % shape[0] or not (at < CHECKSUM or (at == DELTA and bits & 0x80)))
    log = a_log(per_segment=shape[0], per_entry=shape[1])
    (old,) = log.bytes_of(batch, at, 1)
    log.damage(batch, at, bytes([old ^ bits]))
    copy = Copy(log, most)
    copy.run()
    lost = the_offsets(copy.lost)
    expected = [b"%d" % n for n in range(300) if n not in set(lost)]
    assert copy.values == expected
    harmless = EPOCH <= at < MAGIC
    assert bool(lost) is not harmless
    if at >= CHECKSUM and not DELTA <= at < DELTA + 4:
        assert copy.lost == [(batch * SIZE, (batch + 1) * SIZE)]


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE])
def test_what_tiered_storage_does_not_return_now_is_fetched_again_and_never_skipped(error):
    """The local log behind it can be read, so it looked damaged up to there."""
    network, partition = LogNetwork(a_log()), a_partition(a_start())
    network.local_start, network.remote_error = 200, error
    partition.position = 50
    found = asyncio.run(DamagedBatch(network, partition, committed=False).error())
    assert (found.recovery, found.lost, found.resume) == (Recovery.RETRY, None, None)
    assert "tiered storage" in found.reason


@pytest.mark.parametrize("local_start", [200, 250])
def test_a_batch_that_is_damaged_on_the_brokers_own_disk_is_damaged_with_tiered_storage_too(
    local_start,
):
    network, partition = LogNetwork(damaged(25, BODY, b"?")), a_partition(a_start())
    network.local_start, network.remote_error = local_start, ErrorCode.UNKNOWN_SERVER_ERROR
    partition.position = 250
    found = asyncio.run(DamagedBatch(network, partition, committed=False).error())
    assert (found.state, found.lost) == (PartitionState.SOURCE_CORRUPT, OffsetRange(250, 260))


def test_brokers_that_know_no_tiered_storage_have_all_on_their_disks():
    class Older(LogNetwork):
        async def offset_at(self, partition, timestamp: int) -> int:
            if timestamp == EARLIEST_LOCAL_TIMESTAMP:
                raise ClusterRejected("supports no version of ListOffsets that Isthmus supports")
            return await super().offset_at(partition, timestamp)

        def answer(self, node, entry, most):
            found = super().answer(node, entry, most)
            return found._replace(records=memoryview(b"")) if entry.offset < 60 else found

    partition = a_partition(a_start())
    partition.position = 50
    found = asyncio.run(DamagedBatch(Older(a_log()), partition, committed=False).error())
    assert (found.state, found.lost) == (PartitionState.SOURCE_CORRUPT, OffsetRange(50, 60))


@pytest.mark.parametrize("committed", [False, True])
def test_a_damaged_batch_is_looked_at_with_the_isolation_of_the_copy(committed):
    seen = set()

    class Noting(LogNetwork):
        async def fetch(self, node, entries, options, *more):
            seen.add(options.isolation)
            return await super().fetch(node, entries, options, *more)

    partition = a_partition(a_start())
    partition.position = 250
    network = Noting(damaged(25, BODY, b"?"))
    asyncio.run(DamagedBatch(network, partition, committed).error())
    assert seen == {int(committed)}


def test_without_a_leader_a_batch_is_not_damaged():
    class Leaderless(LogNetwork):
        def leader(self, _partition):
            return None

    partition = a_partition(a_start())
    found = asyncio.run(DamagedBatch(Leaderless(a_log()), partition, committed=False).error())
    assert (found.recovery, found.lost) == (Recovery.RETRY, None)


def test_the_first_batch_on_the_brokers_own_disk_is_not_in_tiered_storage():
    class Silent(LogNetwork):
        def answer(self, node, entry, most):
            found = super().answer(node, entry, most)
            return found._replace(records=memoryview(b"")) if entry.offset < 60 else found

    network, partition = Silent(a_log()), a_partition(a_start())
    network.local_start = partition.position = 50
    found = asyncio.run(DamagedBatch(network, partition, committed=False).error())
    assert (found.state, found.lost) == (PartitionState.SOURCE_CORRUPT, OffsetRange(50, 60))


@pytest.mark.parametrize("first", [24, 27])
def test_bl_226_the_last_offset_of_a_log_is_found_behind_damage(first):
    """However far the steps towards it reach."""
    listed = [(n, a_batch(n, [b"%d" % n])) for n in range(29)]
    log = SegmentedLog(listed, 29, 40, 4)  # the last one has an entry in the index
    for number in range(first, 28):
        log.damage(number, LENGTH, struct.pack(">i", 3))
    assert examine(log, first).lost == (first, 28)
