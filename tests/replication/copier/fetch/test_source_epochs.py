"""What is known of the source's log before a position: the leader epoch of the batch there."""

from __future__ import annotations

import asyncio

import pytest
from support.copier.partition_copies import a_partition, a_start, fetch
from support.fakes.memory_network import OUT_OF_RANGE, MemoryCluster
from support.records.record_batches import a_batch

from replication.client.fetch_values import FetchBuffer
from replication.copier.error_policy import ErrorPolicy
from replication.copier.fetch.unclear_errors import Unclear, locate
from replication.copier.partition.broker_errors import Recovery, diverged, rewritten
from replication.copier.partition.intake import take
from replication.copier.partition.refused_batches import drop_refused, go_back
from replication.model import OffsetAndEpoch, OffsetRange, PartitionState
from replication.settings.state_policies import Policies


class Restored(MemoryCluster):
    """A source whose highest leader epoch is 3: it was restored from an older state."""

    async def fetch(self, node, entries, options, into):
        found = await super().fetch(node, entries, options, into)
        return [
            each._replace(error=OUT_OF_RANGE if entry.last_epoch > 3 else each.error)
            for entry, each in zip(entries, found, strict=True)
        ]


@pytest.mark.parametrize(
    ("epoch", "recovery"), [(-1, Recovery.RETRY), (3, Recovery.RETRY), (4, Recovery.DECIDE)]
)
def test_a_source_that_knows_no_leader_epoch_like_ours_is_not_read_on_as_if_it_were_the_same(
    epoch, recovery
):
    """BL-224."""
    source, partition = Restored(), a_partition(a_start())
    source.logs[partition.source].append(a_batch(0, [b"v"] * 9))
    partition.resume_at(5, epoch)
    ((_, error),) = asyncio.run(locate(source, Unclear([partition]), committed=True))
    assert error.recovery is recovery
    assert partition.last_epoch == epoch
    if recovery is Recovery.DECIDE:
        assert error.state is PartitionState.SOURCE_TRUNCATED
        assert "restored from an older state: it has no leader epoch 4" in error.reason


def test_a_log_start_that_passes_the_position_meanwhile_is_no_restored_source():
    """The first answer was OFFSET_OUT_OF_RANGE, too; the next ListOffsets names what is lost."""

    class Deleting(Restored):
        async def fetch(self, node, entries, options, into):
            self.logs[partition.source].start = 7
            return await super().fetch(node, entries, options, into)

    source, partition = Deleting(), a_partition(a_start())
    source.logs[partition.source].append(a_batch(0, [b"v"] * 9))
    partition.resume_at(5, 4)
    for recovery, state in (
        (Recovery.RETRY, PartitionState.WAITING),
        (Recovery.DECIDE, PartitionState.LOST_RANGE),
    ):
        ((_, error),) = asyncio.run(locate(source, Unclear([partition]), committed=True))
        assert (error.recovery, error.state) == (recovery, state)


class Log:
    """Takes what is appended."""

    def __init__(self) -> None:
        self.records: list = []

    async def append(self, records) -> None:
        self.records += records


def decided(partition, error) -> None:
    policies = Policies(source_truncated="continue")
    policy = ErrorPolicy(type("Spec", (), {"policies": policies}), Log(), None)
    partition.error = error
    asyncio.run(policy.decide(partition, error))
    assert partition.error is None


def test_who_continues_with_a_restored_source_reads_on_at_the_position():
    partition = a_partition(a_start())
    partition.resume_at(5, 4)
    decided(partition, rewritten(5, 4))
    assert (partition.position, partition.last_epoch) == (5, -1)


def test_after_a_divergence_the_anchor_names_the_leader_epoch_before_it():
    """Otherwise a tail that is rewritten once more would not be noticed."""
    partition = a_partition(a_start())
    take(partition, fetch(a_batch(0, [b"v"] * 9), [], 0, 1), FetchBuffer())
    partition.appended(partition.queue.next_batch(), 0)
    partition.queue.responses_due = 0
    decided(partition, diverged(9, 6, 2))
    assert (partition.position, partition.last_epoch) == (6, 2)
    assert (partition.anchor(0).source, partition.anchor(0).source_epoch) == (6, 2)


def test_going_back_no_further_than_what_was_copied_keeps_its_leader_epoch():
    partition = a_partition(a_start())
    partition.done = OffsetAndEpoch(0, 5)
    partition.resume_at(8, 6)
    go_back(partition, OffsetAndEpoch(7, 6))
    assert (partition.position, partition.last_epoch) == (0, 5)


def test_behind_a_skipped_record_the_anchor_names_its_leader_epoch():
    partition = a_partition(a_start())
    take(partition, fetch(a_batch(0, [b"v"]), [], 0, 1), FetchBuffer())
    refused = partition.queue.next_batch()
    refused.rejected, refused.epoch_after, partition.queue.responses_due = True, 8, 0
    drop_refused(partition)
    assert (partition.anchor(0).source, partition.anchor(0).source_epoch) == (1, 8)


def test_what_is_lost_of_a_restored_source_is_not_known():
    assert rewritten(5, 4).lost == OffsetRange(5, 5)
