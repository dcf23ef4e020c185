"""Where a partition continues after its topic was recreated, and the loss that is recorded."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.memory_network import MemoryCluster
from support.partition_copies import OURS
from support.record_batches import a_batch

from replication.copier.spec import UnitSpec
from replication.copier.takeover.connections import new_connections
from replication.copier.takeover.lost_anchor import LostAnchors
from replication.copier.takeover.start_position import StartPositions
from replication.model import PartitionPlan, PartitionState, TopicPartition
from replication.settings.state_policies import Policies
from replication.state import Anchor

HERE = TopicPartition("t", 0)
CLUSTER = MemoryCluster()
PRESENT = CLUSTER.topic_id("t").hex()
KNOWN = Anchor(
    "f", "t", 0, "t", 5, 8, appenders=(("x", OURS),), clean=True, source_topic_id=PRESENT,
    target_topic_id=PRESENT, lost=2,
)  # fmt: skip


def place(known: Anchor, target_records: int = 0, **policies: str):
    """Return the start positions of a unit, and the one partition whose anchor is ``known``."""
    source, target = MemoryCluster("source"), MemoryCluster("target")
    for _ in range(target_records):
        target.logs[HERE].append(a_batch(0, [b"v"]))
    connections = new_connections("f", source, target, "A")
    connections.takeover.seen[HERE] = known
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(**policies))
    positions = StartPositions(spec, connections, LostAnchors(spec, connections, {}))
    return positions, asyncio.run(positions.place(PartitionPlan(HERE, HERE)))


def test_going_on_with_a_recreated_source_records_one_loss_and_begins_at_its_first_record():
    former = replace(KNOWN, source_topic_id="aa")
    positions, partition = place(former, source_recreated="continue")
    (loss,) = positions.losses
    assert (loss.first, loss.next, loss.state, loss.topic_id) == (
        5, 5, PartitionState.SOURCE_RECREATED, "aa",
    )  # fmt: skip
    assert positions.restarts == {partition: 0}
    assert (partition.claimed.lost, partition.state) == (2, PartitionState.WAITING)


def test_going_on_with_a_recreated_target_records_all_that_it_held_and_appends_at_its_start():
    positions, partition = place(replace(KNOWN, target_topic_id="bb"), target_reset="continue")
    (loss,) = positions.losses
    assert (loss.first, loss.next, loss.state, loss.topic_id) == (
        0, 5, PartitionState.TARGET_RESET, PRESENT,
    )  # fmt: skip
    claimed = partition.claimed
    assert (claimed.source, claimed.target, claimed.lost) == (5, 0, 7)
    assert claimed.target_topic_id == PRESENT


def test_going_on_with_an_emptied_target_records_the_loss_and_appends_behind_its_new_end():
    positions, partition = place(KNOWN, target_records=3, target_reset="continue")
    (loss,) = positions.losses
    assert (loss.first, loss.next, loss.state) == (0, 5, PartitionState.TARGET_RESET)
    assert "ends at 3, our last record is at 7" in loss.reason
    claimed = partition.claimed
    assert (claimed.source, claimed.target, claimed.lost) == (5, 3, 7)


@pytest.mark.parametrize(
    ("known", "policy", "state"),
    [
        (replace(KNOWN, source_topic_id="aa"), "source_recreated", PartitionState.SOURCE_RECREATED),
        (replace(KNOWN, target_topic_id="bb"), "target_reset", PartitionState.TARGET_RESET),
        (KNOWN, "target_reset", PartitionState.TARGET_RESET),
    ],
)
def test_stop_halts_the_partition_and_records_no_loss(known, policy, state):
    positions, partition = place(known, **{policy: "stop"})
    assert (positions.losses, positions.restarts) == ([], {})
    assert partition.state is state
    assert (partition.claimed.source, partition.claimed.target) == (5, 8)


def test_a_target_that_holds_what_the_anchor_says_is_not_reset():
    positions, partition = place(KNOWN, target_records=8, target_reset="continue")
    assert positions.losses == []
    assert (partition.claimed.target, partition.claimed.lost) == (8, 2)
