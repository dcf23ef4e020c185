"""What becomes of a lane that needs an answer."""

from __future__ import annotations

import asyncio

import pytest
from support.memory_network import MemoryCluster
from support.partition_copies import a_lane, a_start, fill

from replication.client.state_log import StateLog
from replication.copier.dead_letters import DeadLetters
from replication.copier.error_policy import Judge
from replication.copier.partition.broker_errors import Remedy, out_of_range
from replication.copier.spec import UnitSpec
from replication.model import PartitionState
from replication.settings.state_policies import Policies

LOST = out_of_range(2, 5, 9)


def judge(lane, cluster: MemoryCluster, **policies: str) -> None:
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(**policies))
    lane.suffer(LOST)
    asyncio.run(Judge(spec, StateLog(cluster, "anchors"), DeadLetters()).judge(lane, LOST))


def losses(cluster: MemoryCluster) -> int:
    return sum(len(log.records()) for log in cluster.logs.values())


def a_lane_with_one_on_the_wire():
    lane = fill(a_lane(a_start()), 2)
    lane.queue.next_piece()
    lane.queue.answers_due = 0
    return lane


@pytest.mark.parametrize("choice", ["continue", "stop"])
def test_a_hole_is_passed_with_its_loss_written_or_parks_the_lane(choice):
    lane, cluster = fill(a_lane(a_start()), 2), MemoryCluster()
    judge(lane, cluster, lost_range=choice)
    assert lane.trouble is None
    if choice == "stop":
        assert (lane.state, losses(cluster)) == (PartitionState.LOST_RANGE, 0)
    else:
        assert (lane.state, lane.position, losses(cluster)) == (PartitionState.RUNNING, 5, 1)
        assert len(lane.queue.waiting) == 2


def test_where_it_is_not_known_what_landed_counting_comes_before_going_on():
    lane, cluster = a_lane_with_one_on_the_wire(), MemoryCluster()
    judge(lane, cluster, lost_range="continue")
    assert lane.trouble.remedy is Remedy.TAKE_OVER
    assert (lane.position, losses(cluster)) == (2, 0)
