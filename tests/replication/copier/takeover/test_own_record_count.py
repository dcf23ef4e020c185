"""Our records on the target between an anchor and our fence markers, as a takeover counts them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.copier.partition_copies import FOREIGN, OURS, PASSING_ON, a_partition, a_start
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch, a_marker

from replication.client.error_codes import ErrorCode
from replication.client.fetch_values import Leader
from replication.copier.partition.broker_errors import LOST_TAIL
from replication.copier.partition.position import Position
from replication.copier.takeover import own_record_count
from replication.copier.takeover.content_position import TargetTail
from replication.copier.takeover.own_record_count import count_own
from replication.errors import ClusterUnavailable
from replication.model import PartitionState, ProducerIdAndEpoch, RecordsAndBytes

MARKERS = {"x": ProducerIdAndEpoch(OURS, 3)}  # producer and epoch of our fence
BOTH = MARKERS | {"x~c": ProducerIdAndEpoch(PASSING_ON, 4)}
CLAIMED = replace(a_start(), appenders=(("x", OURS),))


class Target(MemoryCluster):
    """A target whose retention may have deleted what stands before ``first``.

    ``leaders`` are the nodes of its partitions; ``errors`` come instead of the next responses.
    """

    def __init__(self) -> None:
        super().__init__("target")
        self.first, self.leaders, self.errors, self.asked_of = 0, {}, [], []

    def leader(self, partition):
        node = self.leaders.get(partition.partition, 0)
        return None if node is None else Leader(node, 7)

    async def refresh(self, topics) -> None:
        await super().refresh(topics)
        self.leaders = {each: node or 0 for each, node in self.leaders.items()}

    async def offset_at(self, partition, timestamp: int) -> int:
        return self.first if timestamp == -2 else await super().offset_at(partition, timestamp)

    async def fetch(self, node, entries, options, into):
        self.asked_of.append((node, [(each.partition, each.offset) for each in entries]))
        if self.errors:
            error = self.errors.pop(0)
            found = await super().fetch(node, entries, options, into)
            return [each._replace(error=error, records=memoryview(b"")) for each in found]
        found = await super().fetch(node, entries, options, into)
        gone = [each.offset < self.first for each in entries]
        return [
            each._replace(error=ErrorCode.OFFSET_OUT_OF_RANGE) if lost else each
            for each, lost in zip(found, gone, strict=True)
        ]

    def add(self, *batches: bytes, partition: int = 0) -> None:
        for each in batches:
            log = self.logs[a_partition(a_start(partition)).target]
            log.sequences.clear()
            assert log.append(each)[0] == 0


def batch(count: int, producer: int = OURS, *, transactional: bool = False) -> bytes:
    return a_batch(0, [b"v"] * count, (producer, 2, 0), transactional=transactional)


def fence(producer: int = OURS, epoch: int = 3) -> bytes:
    return a_marker(0, producer, epoch)


def counted(target: Target, *partitions, producers=MARKERS, keep=()):
    return asyncio.run(count_own(target, partitions, producers, keep))


def size(*batches: bytes) -> RecordsAndBytes:
    counts = sum(int.from_bytes(each[57:61], "big") for each in batches)
    return RecordsAndBytes(counts, sum(map(len, batches)))


WRITERS = [OURS, PASSING_ON, FOREIGN]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(WRITERS), st.integers(1, 4), st.booleans()), max_size=12),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_invariant_c_what_we_appended_between_the_anchor_and_our_markers_is_counted(
    appended, before, after
):
    """Not what others appended, not what is in transactions, and nothing before the anchor."""
    target = Target()
    target.add(*(batch(count, who) for who, count, _ in appended[:before]))
    start = target.logs[a_partition(CLAIMED).target].end
    target.add(fence(OURS, 2))  # of an earlier takeover
    some = [(who, batch(count, who, transactional=own)) for who, count, own in appended]
    target.add(*(each for _, each in some))
    target.add(fence(PASSING_ON, 4), fence(OURS, 5))
    end = target.logs[a_partition(CLAIMED).target].end
    target.add(*(batch(1, FOREIGN) for _ in range(after)))
    both = (("x~c", PASSING_ON), ("x", OURS))
    partition = a_partition(replace(CLAIMED, target=start, source=40, appenders=both))
    assert counted(target, partition, producers=BOTH) == {}
    ours = [
        each
        for (who, each), (_, _, own) in zip(some, appended, strict=True)
        if who != FOREIGN and not own
    ]
    assert partition.counted.size == size(*ours)
    assert partition.counted.skip == partition.counted.size.records
    assert end <= partition.counted.end <= end + after
    assert partition.exact == (not ours)
    assert partition.acked == Position(40, start if ours else partition.counted.end)


def test_a_marker_of_an_older_epoch_or_of_another_producer_does_not_end_the_counting():
    """Behind it the former owner may still append."""
    target = Target()
    target.add(batch(2), fence(OURS, 2), fence(FOREIGN, 9), batch(3), fence(OURS, 3))
    partition = a_partition(CLAIMED)
    counted(target, partition)
    assert partition.counted.skip == 5


def test_all_markers_of_a_partition_are_waited_for_and_no_others(monkeypatch):
    monkeypatch.setattr(own_record_count, "_MARKER_PATIENCE_S", 0.2)
    one = a_partition(CLAIMED)
    two = a_partition(replace(a_start(1), appenders=(("x~c", PASSING_ON), ("x", OURS))))
    target = Target()
    target.add(batch(2), fence())
    target.add(batch(4), fence(), batch(1, PASSING_ON), partition=1)
    with pytest.raises(ClusterUnavailable, match="no fence marker in t-1 after"):
        counted(target, one, two, producers=BOTH)
    target.add(fence(PASSING_ON, 4), partition=1)
    counted(target, one, two, producers=BOTH)
    assert [each.counted.skip for each in (one, two)] == [2, 5]


def test_partitions_of_several_leaders_are_each_read_from_their_own():
    target = Target()
    target.leaders = {0: 1, 1: 2, 2: None}
    partitions = [a_partition(a_start(number)) for number in range(3)]
    for number in range(3):
        target.add(batch(number + 1), fence(), partition=number)
    counted(target, *partitions)
    assert [each.counted.skip for each in partitions] == [1, 2, 3]
    read = {(node, partition) for node, entries in target.asked_of for partition, _ in entries}
    assert read == {(1, 0), (2, 1), (0, 2)}, "the last one after a refresh"


def test_an_error_of_one_response_is_retried_after_a_refresh():
    target, partition = Target(), a_partition(CLAIMED)
    target.add(batch(2), fence())
    target.errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    counted(target, partition)
    assert partition.counted.skip == 2
    assert ("refresh", "t") in target.events


def test_where_retention_deleted_what_is_to_be_counted_the_rest_is_counted_and_it_says_so():
    target, partition = Target(), a_partition(replace(CLAIMED, target=1, source=40))
    last = batch(2)
    target.add(batch(3), batch(3), last, fence())
    target.first = 6
    tails = counted(target, partition)
    log = target.logs[partition.target]
    assert tails == {
        partition: TargetTail(
            log.batches[2], least=2, most=8, passed="the target no longer has offsets [1, 6)"
        )
    }
    assert partition.counted.skip == 2
    assert (partition.acked, partition.exact) == ((40, 1), False)


def test_where_nothing_of_ours_is_left_the_position_is_not_taken_for_exact():
    target, partition = Target(), a_partition(CLAIMED)
    target.add(batch(3), batch(2, FOREIGN), fence())
    target.first = 3
    tails = counted(target, partition)
    assert tails[partition] == TargetTail(None, 0, 6, "the target no longer has offsets [0, 3)")
    assert (partition.exact, partition.counted.skip) == (False, 0)


def test_the_last_batch_is_kept_where_the_source_lacks_the_anchors_offset():
    target, partition = Target(), a_partition(CLAIMED)
    other = a_partition(a_start(1))
    for number in range(2):
        target.add(batch(3), batch(2), batch(1, FOREIGN), fence(), partition=number)
    tails = counted(target, partition, other, keep=[partition])
    assert tails == {
        partition: TargetTail(target.logs[partition.target].batches[1], 5, 7, "", whole=5)
    }


def test_a_target_that_ends_before_the_anchor_was_reset_and_the_others_are_counted():
    target = Target()
    gone, other = a_partition(replace(CLAIMED, target=50)), a_partition(a_start(1))
    target.add(batch(3), fence())
    target.add(batch(2), fence(), partition=1)
    tails = counted(target, gone, other, keep=[gone, other])
    assert gone.state_and_reason == (
        PartitionState.TARGET_RESET,
        f"the target ends at offset 4, before our 50: {LOST_TAIL}",
    )
    assert set(tails) == {other}
    assert (other.state, other.counted.skip) == (PartitionState.RUNNING, 2)


def test_an_offset_that_one_response_calls_out_of_range_is_read_again():
    """A leader that lagged, and has caught up."""
    target, partition = Target(), a_partition(CLAIMED)
    target.add(batch(2), fence())
    target.errors = [ErrorCode.OFFSET_OUT_OF_RANGE]
    assert counted(target, partition) == {}
    assert (partition.state, partition.counted.skip) == (PartitionState.RUNNING, 2)
