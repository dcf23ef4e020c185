"""The error policy: halt a partition, or skip offsets and record the loss."""

from __future__ import annotations

import asyncio

import pytest
from support.memory_network import MemoryCluster
from support.partition_copies import a_partition, a_start, fill
from support.produce_requests import Wire

from replication.client.error_codes import ErrorCode
from replication.client.state_log import StateLog
from replication.copier.dead_letters import DeadLetters
from replication.copier.error_policy import ErrorPolicy
from replication.copier.partition.broker_errors import Recovery, out_of_range
from replication.copier.partition.position import Position
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


def test_where_it_is_not_known_what_landed_counting_comes_before_going_on():
    partition, cluster = a_partition_with_one_in_flight(), MemoryCluster()
    decide(partition, cluster, lost_range="continue")
    assert partition.error.recovery is Recovery.TAKE_OVER
    assert (partition.position, losses(cluster)) == (2, 0)


def test_a_skipped_record_has_its_loss_and_the_anchor_behind_it_in_one_append():
    partition, cluster = a_refused_partition(), MemoryCluster()
    partition.acked, partition.counted, partition.counters.lost = Position(0, 40), 44, 3
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
