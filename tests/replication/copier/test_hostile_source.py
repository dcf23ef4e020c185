"""A source that lies about offsets, partitions and leaders: nothing wrong is copied, nothing spins.

The unit is real, and so is its connection to the source; the target is in memory.
"""

from __future__ import annotations

import struct
import time

import pytest
from kafka.protocol.consumer import FetchRequest
from support.copier.two_clusters import a_spec
from support.fakes.memory_network import MemoryCluster
from support.network.fake_broker import FakeBroker
from support.records.record_batches import a_batch

from replication.adapters.wire import connect
from replication.copier.host import Host
from replication.model import PartitionPlan, TopicPartition
from replication.state import Anchor, anchors_topic, parse

BATCHES = [a_batch(2 * n, [b"%d" % (2 * n), b"%d" % (2 * n + 1)]) for n in range(5)]
ALL = [b"%d" % n for n in range(10)]
TOPIC = "orders"


def below(found, _):
    found.records = BATCHES[0] + BATCHES[1]


def beyond_the_end(found, _):
    found.records = a_batch(1000, [b"x"])


def at_the_largest_offset(found, _):
    found.records = a_batch(2**63 - 2, [b"x", b"y"])
    found.high_watermark = found.last_stable_offset = 2**63 - 1


def negative(found, _):
    found.records = a_batch(-5, [b"x", b"y"])


def backwards(found, _):
    found.records = BATCHES[1] + BATCHES[0]


def garbage(found, _):
    found.records = b"\x13" * 500


def more_records_than_offsets(found, _):
    batch = bytearray(BATCHES[0])
    struct.pack_into(">i", batch, 57, 1 << 30)
    found.records = bytes(batch)


def out_of_range_for_ever(found, _):
    found.error_code, found.records = 1, b""


def as_another_partition(found, _):
    found.partition_index += 1000


def nothing(found, _):
    found.records = b""


def left_out(_, partitions):
    partitions.pop()


# What is copied, the state of the partition, and a part of its reason.
LIES = {
    below: (ALL[:4], "SOURCE_CORRUPT", "returns nothing from 4"),
    beyond_the_end: ([], "SOURCE_CORRUPT", "`skip` has no effect yet"),
    at_the_largest_offset: ([], "SOURCE_CORRUPT", "a batch began there"),
    negative: ([], "SOURCE_CORRUPT", "at offset -5: no log has a negative offset"),
    backwards: ([], "SOURCE_CORRUPT", "a batch up to 3 after a gap"),
    garbage: ([], "SOURCE_CORRUPT", "only 500 are available"),
    more_records_than_offsets: ([], "SOURCE_CORRUPT", "the checksum does not match"),
    out_of_range_for_ever: ([], "RUNNING", "is in range again"),
    as_another_partition: ([], "RUNNING", ""),
    nothing: ([], "RUNNING", ""),
    left_out: ([], "RUNNING", ""),
    None: (ALL, "RUNNING", ""),
}


class Copied:
    """What a unit of ``partitions`` made of a source in one epoch, and how often it asked."""

    def __init__(self, source: FakeBroker, partitions, epoch_s: float) -> None:
        target, host = MemoryCluster("target"), Host()
        plans = tuple(PartitionPlan(each, each) for each in partitions)
        here = {"bootstrap.servers": source.address}
        spec = a_spec(epoch_s=epoch_s, source=here, partitions=plans)
        try:
            self.report = host.copy(
                spec, lambda which, *rest: connect(here, *rest) if which == here else target
            )
        finally:
            host.close()
        self.logs = target.logs
        self.fetches = source.requests(FetchRequest)
        anchors = (parse(*each) for each in target.logs[_anchors()].records())
        self.anchors = {each.partition: each for each in anchors if isinstance(each, Anchor)}


def _anchors() -> TopicPartition:
    return TopicPartition(anchors_topic("A"), 0)


@pytest.fixture(scope="module")
def copied():
    """Copy from a source that tells each partition another lie."""
    partitions = [TopicPartition(TOPIC, number) for number in range(len(LIES))]

    def lie(_, honest):
        for topic in honest.responses:
            kept = []
            for each in topic.partitions:
                kept.append(each)
                if (
                    reported := list(LIES)[each.partition_index]
                ) is not None and not each.error_code:
                    reported(each, kept)
            topic.partitions = kept
        return honest

    with FakeBroker(*partitions) as source:
        for partition in partitions:
            for batch in BATCHES:
                source.logs[partition].append(batch)
        source.lies[FetchRequest] = lie
        yield Copied(source, partitions, 5.0)


@pytest.mark.parametrize("lie", LIES)
def test_of_a_lying_source_nothing_wrong_is_copied(copied, lie):
    number = list(LIES).index(lie)
    values, state, reason = LIES[lie]
    assert copied.logs[TopicPartition(TOPIC, number)].values() == values
    anchor = copied.anchors[number]
    assert (anchor.state, anchor.source) == (state, len(values))
    assert reason in anchor.reason


def test_a_source_that_answers_at_once_with_nothing_is_asked_with_pauses(copied):
    assert len(copied.fetches) < 400  # in 5 s; there were thousands


def redirected(change) -> tuple[Copied, int]:
    """Copy from two brokers that answer as ``change(found, other broker, number)`` wants.

    Returns what came of it, and how many Fetches the two got.
    """
    here, count = TopicPartition(TOPIC, 0), 0

    def to(other: int):
        def lie(_, honest):
            nonlocal count
            count += 1
            for topic in honest.responses:
                for each in topic.partitions:
                    change(each, other, count)
            return honest

        return lie

    with FakeBroker(here) as first, FakeBroker(here) as second:
        first.others = {2: ("127.0.0.1", second.port)}
        for broker, other in ((first, 2), (second, 1)):
            broker.logs[here].append(BATCHES[0])
            broker.lies[FetchRequest] = to(other)
        return Copied(first, [here], 1.5), count


def test_brokers_that_name_each_other_as_leader_are_not_asked_in_circles():
    def change(found, other, number):
        found.error_code, found.records = 6, b""
        found.current_leader = type(found).LeaderIdAndEpoch(
            leader_id=other, leader_epoch=100 + number
        )

    result, count = redirected(change)
    assert (count < 20, result.anchors[0].reason) == (True, "the source partition's leader changed")


def test_brokers_that_name_each_other_as_preferred_replica_are_not_asked_in_circles():
    def change(found, other, _):
        found.preferred_read_replica, found.records = other, b""

    result, count = redirected(change)
    assert count < 60
    assert result.logs[TopicPartition(TOPIC, 0)].values() == []


def test_a_source_that_never_answers_does_not_hold_up_the_end_of_the_epoch():
    here, began = TopicPartition(TOPIC, 0), time.monotonic()
    with FakeBroker(here) as source:
        source.lies[FetchRequest] = lambda *_: None
        result = Copied(source, [here], 1.0)
    assert time.monotonic() - began < 25  # a request is waited for 30 s
    assert (result.report.records, len(result.fetches)) == (0, 1)
