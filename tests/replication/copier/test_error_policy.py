"""The error policy: halt a partition, or skip offsets and record the loss."""

from __future__ import annotations

import asyncio

import pytest
from support.memory_network import MemoryCluster
from support.partition_copies import a_partition, a_start, fill

from replication.client.state_log import StateLog
from replication.copier.dead_letters import DeadLetters
from replication.copier.error_policy import ErrorPolicy
from replication.copier.partition.broker_errors import Recovery, out_of_range
from replication.copier.spec import UnitSpec
from replication.model import PartitionState
from replication.settings.state_policies import Policies

LOST = out_of_range(2, 5, 9)


def decide(partition, cluster: MemoryCluster, **policies: str) -> None:
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(**policies))
    partition.record_error(LOST)
    asyncio.run(
        ErrorPolicy(spec, StateLog(cluster, "anchors"), DeadLetters()).decide(partition, LOST)
    )


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


def test_where_it_is_not_known_what_landed_counting_comes_before_going_on():
    partition, cluster = a_partition_with_one_in_flight(), MemoryCluster()
    decide(partition, cluster, lost_range="continue")
    assert partition.error.recovery is Recovery.TAKE_OVER
    assert (partition.position, losses(cluster)) == (2, 0)
