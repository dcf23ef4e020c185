"""A copy that ends at an offset of the source: there, also within a batch and after a crash."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from support.copier.partition_copies import a_partition, a_start, fetch
from support.copier.two_clusters import HERE, TwoClusters
from support.records.record_batches import GZIP, PLAIN, a_batch, unpackable

from replication.client.fetch_values import FetchBuffer
from replication.copier.partition.intake import take
from replication.model import PartitionPlan


def bounded(until):
    return {"partitions": (PartitionPlan(HERE, HERE, until=until),)}


@pytest.fixture
def pair():
    two = TwoClusters()
    yield two
    two.close()


def feed(two, *sizes, codec=PLAIN):
    """Append batches of so many records to the source; return all its values."""
    log, values = two.source.logs[HERE], []
    for size in sizes:
        some = [b"%d" % (len(values) + number) for number in range(size)]
        values += some
        log.append(a_batch(0, some, codec=codec))
    return values


@pytest.mark.parametrize("until", [0, 3, 4, 7, 10])
def test_copying_ends_at_its_offset_also_within_a_batch(pair, until):
    values = feed(pair, 3, 4, 3)
    report = pair.copy(**bounded(until))
    assert (report.outcome, report.records) == ("clean", until)
    assert pair.copied() == values[:until]
    assert pair.anchors()[-1].source == until
    assert pair.anchors()[-1].clean


def test_what_stands_behind_the_offset_is_not_copied_by_a_later_run(pair):
    values = feed(pair, 5, 5)
    pair.copy(**bounded(6))
    feed(pair, 5)
    assert pair.copy(epoch=1, **bounded(6)).records == 0
    assert pair.copied() == values[:6]


def test_a_bounded_copy_asks_the_source_for_nothing_once_it_has_ended(pair):
    feed(pair, 5)
    pair.copy(**bounded(2))
    before = len(pair.source.events)
    pair.copy(epoch=1, epoch_s=0.4, **bounded(2))
    assert not [each for each in pair.source.events[before:] if each[0] == "fetch"]


def test_a_bounded_copy_is_not_behind_what_comes_after_its_offset(pair):
    feed(pair, 5)
    pair.copy(**bounded(2))
    assert pair.anchors()[-1].source_end <= 2
    assert pair.anchors()[-1].behind_ms == 0


def test_offsets_without_a_record_around_the_end_do_not_move_it(pair):
    """A batch keeps the offsets of records that compaction removed."""
    batch = bytearray(a_batch(0, [b"0", b"1", b"2"]))
    struct.pack_into(">i", batch, 23, 9)  # its last offset
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    pair.source.logs[HERE].append(bytes(batch))
    pair.copy(**bounded(5))
    assert pair.copied() == [b"0", b"1", b"2"]
    assert pair.anchors()[-1].source == 5


def test_a_batch_behind_the_end_is_not_looked_at_though_the_same_response_holds_it():
    """It may be damaged, which is for the stream to find."""
    partition = a_partition(a_start())
    partition.plan = replace(partition.plan, until=2)
    records = a_batch(0, [b"0", b"1", b"2"]) + unpackable(3, 4)
    take(partition, fetch(records, [], 0, 2), FetchBuffer())
    assert [each.after for each in partition.queue.waiting] == [2]
    assert partition.position == 2


@settings(deadline=None, max_examples=15)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    codec=st.sampled_from([PLAIN, GZIP]),
    data=st.data(),
)
def test_property_each_record_before_the_offset_is_copied_once_whatever_crashes(sizes, codec, data):
    two = TwoClusters()
    try:
        values = feed(two, *sizes, codec=codec)
        until = data.draw(st.integers(0, len(values)))
        two.copy(**bounded(until))
        for epoch in range(1, data.draw(st.integers(1, 3))):
            if until:
                two.crash()
            two.copy(epoch=epoch, host=two.another(), **bounded(until))
        assert two.copied() == values[:until]
    finally:
        two.close()
