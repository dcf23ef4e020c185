"""The error policy: halt a partition, or skip offsets and record the loss."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.copier.partition_copies import a_partition, a_start, fetch, fill
from support.copier.produce_requests import Wire
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch, unpackable

from replication.client.error_codes import ErrorCode
from replication.client.fetch_values import FetchBuffer
from replication.client.state_topic.state_log import StateLog
from replication.copier.dead_letters import DeadLetters
from replication.copier.error_policy import ErrorPolicy
from replication.copier.partition.broker_errors import Recovery, corrupt, out_of_range
from replication.copier.partition.intake import take
from replication.copier.partition.position import Position
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.spec import UnitSpec
from replication.errors import ClusterRejected
from replication.model import PartitionState, TopicPartition
from replication.records.batch import walk
from replication.records.codec import decode, headers_of, key_and_value
from replication.settings.state_policies import Policies
from replication.state import parse

TOO_LARGE = 10
LOST = out_of_range(2, 5, 9)


def decide(partition, cluster: MemoryCluster, **policies: str) -> None:
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(**policies))
    partition.record_error(LOST)
    asyncio.run(
        ErrorPolicy(spec, StateLog(cluster, "anchors"), DeadLetters()).decide(partition, LOST)
    )


def decide_refused(
    partition, cluster: MemoryCluster, dead_letters: DeadLetters | None = None
) -> None:
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(refused="skip"))
    policy = ErrorPolicy(spec, StateLog(cluster, "anchors"), dead_letters or DeadLetters())
    asyncio.run(policy.decide(partition, partition.error))


def pass_over(partition, error, cluster: MemoryCluster) -> list:
    """Skip a damaged batch of the source; return what was written in one append."""
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(source_corrupt="skip"))
    partition.record_error(error)
    asyncio.run(
        ErrorPolicy(spec, StateLog(cluster, "anchors"), DeadLetters()).decide(partition, error)
    )
    (batch,) = cluster.logs[TopicPartition("anchors", 0)].batches
    return [parse(*key_and_value(each)) for each in decode(next(walk(memoryview(batch))))]


def a_refused_partition():
    """Return a partition whose first record the target rejected; the second one is behind it."""
    partition = fill(a_partition(a_start()), 2)
    Wire(partition, proven=False).answer(TOO_LARGE)
    return partition


def losses(cluster: MemoryCluster) -> int:
    return sum(len(log.records()) for log in cluster.logs.values())


def a_partition_with_one_in_flight():
    partition = fill(a_partition(a_start()), 2)
    partition.queue.next_batch()
    partition.queue.responses_due = 0
    return partition


@pytest.mark.parametrize("choice", ["continue", "stop"])
def test_a_hole_is_passed_with_its_loss_written_or_halts_the_partition(choice):
    partition, cluster = fill(a_partition(a_start()), 2), MemoryCluster()
    decide(partition, cluster, lost_range=choice)
    assert partition.error is None
    if choice == "stop":
        assert (partition.state, losses(cluster)) == (PartitionState.LOST_RANGE, 0)
    else:
        assert (partition.state, partition.position, losses(cluster)) == (
            PartitionState.RUNNING,
            5,
            1,
        )
        assert len(partition.queue.waiting) == 2
        assert partition.counters.lost == 3


def test_a_partition_that_continues_where_it_is_keeps_what_it_has_fetched():
    partition, cluster = fill(a_partition(a_start()), 5), MemoryCluster()
    decide(partition, cluster, lost_range="continue")  # at offset 5, its position
    assert (partition.position, len(partition.queue.waiting)) == (5, 5)


def test_a_loss_has_the_time_the_reason_and_the_topic_id():
    partition, cluster = a_partition(a_start()), MemoryCluster()
    before = int(time.time() * 1000)
    loss, _ = pass_over(partition, corrupt(0, 5, "the checksum"), cluster)
    assert before <= loss.at_ms <= time.time() * 1000
    assert loss.reason == "the source's offsets [0, 5) are damaged: the checksum"
    assert (loss.flow, loss.topic, loss.partition) == ("f", "t", 0)
    assert loss.topic_id == partition.topic_id.hex()


def test_where_it_is_not_known_what_landed_counting_comes_before_going_on():
    partition, cluster = a_partition_with_one_in_flight(), MemoryCluster()
    decide(partition, cluster, lost_range="continue")
    assert partition.error.recovery is Recovery.TAKE_OVER
    assert (partition.position, losses(cluster)) == (2, 0)


def test_a_skipped_record_has_its_loss_and_the_anchor_behind_it_in_one_append():
    partition, cluster = a_refused_partition(), MemoryCluster()
    partition.acked, partition.counted.end, partition.counters.lost = Position(0, 40), 44, 3
    decide_refused(partition, cluster)
    (batch,) = cluster.logs[TopicPartition("anchors", 0)].batches  # a crash has both or neither
    loss, anchor = [parse(*key_and_value(each)) for each in decode(next(walk(memoryview(batch))))]
    assert (loss.first, loss.next, loss.state) == (0, 1, PartitionState.REFUSED)
    assert (anchor.source, anchor.target, anchor.lost) == (1, 44, 4)
    assert (partition.acked, partition.counters.lost, partition.error) == ((1, 44), 4, None)
    assert [each.before for each in partition.queue.waiting] == [1]


def test_where_the_loss_cannot_be_written_nothing_is_skipped():
    partition, cluster = a_refused_partition(), MemoryCluster()
    cluster.refuse = lambda *_: ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(ClusterRejected):
        decide_refused(partition, cluster)
    assert (partition.acked, partition.counters.lost) == ((0, 0), 0)
    assert [each.before for each in partition.queue.in_flight] == [0]


def test_a_skipped_record_is_kept_as_a_dead_letter_that_names_its_source_and_the_reason():
    partition, cluster = a_refused_partition(), MemoryCluster()
    (record,) = decode(next(walk(partition.queue.in_flight[0].batch)))
    reason = partition.error.reason
    decide_refused(partition, cluster, DeadLetters(StateLog(cluster, "dead-letters")))
    (batch,) = cluster.logs[TopicPartition("dead-letters", 0)].batches
    (letter,) = decode(next(walk(memoryview(batch))))
    assert key_and_value(letter) == key_and_value(record)
    assert letter.timestamp == record.timestamp
    assert headers_of(letter) == [
        ("isthmus.flow", b"f"),
        ("isthmus.topic", b"t"),
        ("isthmus.partition", b"0"),
        ("isthmus.offset", b"0"),
        ("isthmus.reason", reason.encode()),
        *headers_of(record),
    ]
    assert [each[1] for each in cluster.events if each[0] == "append"] == [
        "dead-letters", "anchors",
    ]  # fmt: skip


def test_bl_226_a_damaged_batch_is_passed_over_with_its_loss_and_the_anchor_in_one_append():
    partition, cluster = a_partition(a_start()), MemoryCluster()
    partition.acked, partition.counted.end, partition.counters.lost = Position(20, 50), 44, 3
    partition.resume_at(20, 7)
    partition.done = partition.fetched_to
    loss, anchor = pass_over(partition, corrupt(20, 30, "the checksum"), cluster)
    assert (loss.first, loss.next, loss.state) == (20, 30, PartitionState.SOURCE_CORRUPT)
    assert (anchor.source, anchor.target, anchor.lost) == (30, 50, 13)
    assert anchor.source_epoch == -1  # of a batch that was not copied nothing is known
    assert (partition.acked, partition.position, partition.error) == ((30, 50), 30, None)
    assert partition.counters.lost == 13


@pytest.mark.parametrize(
    ("to_skip", "lost", "left", "anchored"),
    [(4, (24, 30), 0, True), (10, (30, 30), 0, True), (12, (30, 30), 2, False)],
)
def test_bl_226_records_that_were_copied_before_the_damage_are_no_loss(
    to_skip, lost, left, anchored
):
    partition, cluster = a_partition(a_start()), MemoryCluster()
    partition.acked, partition.counted.end = Position(20, 50), 62
    partition.position, partition.counted.skip = 20, to_skip
    loss, *anchors = pass_over(partition, corrupt(20, 30, "the checksum"), cluster)
    assert (loss.first, loss.next) == lost
    assert partition.counted.skip == left
    assert [(each.source, each.target) for each in anchors] == [(30, 62)] * anchored
    assert partition.acked == ((30, 62) if anchored else (20, 50))


def test_bl_226_what_cannot_be_passed_over_yet_halts_whatever_was_chosen():
    partition = a_partition(a_start())
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(source_corrupt="skip"))
    policy = ErrorPolicy(spec, StateLog(MemoryCluster(), "anchors"), DeadLetters())
    asyncio.run(policy.decide(partition, corrupt(0, None, "the source answers error 2")))
    assert partition.state is PartitionState.SOURCE_CORRUPT
    assert partition.status.reason.endswith("so `skip` has no effect yet")


def test_a_position_that_a_commit_may_still_change_is_not_passed_over():
    partition, cluster = a_partition(a_start(), kind=TransactionalCopy), MemoryCluster()
    partition.unconfirmed = True
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(source_corrupt="skip"))
    error = corrupt(0, 5, "the checksum")
    partition.record_error(error)
    policy = ErrorPolicy(spec, StateLog(cluster, "anchors"), DeadLetters())
    asyncio.run(policy.decide(partition, error))
    assert (partition.error, losses(cluster)) == (error, 0)
    partition.confirm()
    asyncio.run(policy.decide(partition, error))
    assert (partition.error, partition.position) == (None, 5)


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE, ErrorCode.UNKNOWN_SERVER_ERROR]
)
def test_a_rejected_batch_that_nobody_can_unpack_is_skipped_whole_without_a_dead_letter(code):
    partition = a_partition(a_start())
    take(partition, fetch(unpackable(0, 3) + a_batch(3, [b"d"]), [], 0, 2), FetchBuffer())
    cluster, wire = MemoryCluster(), Wire(partition, proven=False)
    wire.answer(code)
    error = partition.error
    assert (error.recovery, error.state) == (Recovery.DECIDE, PartitionState.REFUSED)
    assert (error.lost, error.resume) == ((0, 3), 3)
    decide_refused(partition, cluster, DeadLetters(StateLog(cluster, "dead-letters")))
    (batch,) = cluster.logs[TopicPartition("anchors", 0)].batches
    loss, anchor = [parse(*key_and_value(each)) for each in decode(next(walk(memoryview(batch))))]
    assert (loss.first, loss.next, anchor.source, anchor.lost) == (0, 3, 3, 3)
    assert not cluster.logs[TopicPartition("dead-letters", 0)].batches
    assert [each.before for each in partition.queue.waiting] == [3]
    assert partition.counters.lost == 3
