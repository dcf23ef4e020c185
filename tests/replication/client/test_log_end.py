"""BL-062: an end offset that is too low for a moment is no loss, on neither side."""

from __future__ import annotations

import asyncio

import pytest
from support.copier.partition_copies import a_partition, a_start
from support.copier.two_clusters import HERE, TwoClusters
from support.fakes.memory_network import MemoryCluster

from replication.copier.takeover import own_record_count
from replication.model import PartitionState
from replication.settings.state_policies import Policies


class Lying(MemoryCluster):
    """A cluster whose first answers about an end are ``lies``."""

    def __init__(self, *lies: int) -> None:
        super().__init__("b")
        self.lies = list(lies)

    async def offset_at(self, partition, timestamp: int) -> int:
        if timestamp == -1 and partition == HERE and self.lies:
            return self.lies.pop(0)
        return await super().offset_at(partition, timestamp)


def test_bl_062_nothing_is_copied_again_because_a_target_says_too_low_an_end():
    pair = TwoClusters(epoch_s=0.15, grace_s=5.0)
    pair.target = Lying()
    try:
        pair.feed(b"a", b"b")
        pair.copy(0, grace_s=0)
        pair.feed(b"c")
        pair.target.lies += [0, 1]
        report = pair.copy(1, pair.another(), policies=Policies(target_reset="reseed"))
        assert (report.outcome, report.not_running, pair.target.lies) == ("clean", 0, [])
        assert pair.copied() == [b"a", b"b", b"c"]
    finally:
        pair.close()


@pytest.mark.parametrize(
    ("end_offsets", "state"),
    [
        pytest.param([0, 9, 10], PartitionState.RUNNING, id="it was too low twice"),
        pytest.param([0, 9, 9], PartitionState.TARGET_RESET, id="it stays too low"),
    ],
)
def test_bl_062_what_is_counted_after_a_crash_is_looked_for_again(end_offsets, state):
    partition = a_partition(a_start())
    cluster = Lying(*end_offsets)
    partition.plan = partition.plan.__class__(HERE, HERE)
    passed: dict = {}
    asyncio.run(own_record_count._resolve_out_of_range(cluster, partition, 10, passed))
    assert (partition.state, passed) == (state, {})
