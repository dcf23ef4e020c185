"""Gaps between our appends: which are checked for foreign producers, and how often."""

from __future__ import annotations

import asyncio

import pytest
from support.copier.partition_copies import FOREIGN, FORWARDED, OURS, REGISTRY, a_partition, a_start
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch, a_marker

from replication.client.fetch_values import Fetched
from replication.client.state_topic.state_log import StateLog
from replication.copier import foreign_writers
from replication.copier.foreign_writers import AppendGaps, ForeignWriters
from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.spec import UnitSpec
from replication.model import PartitionState
from replication.provenance.producer_registry import SourceRegistry
from replication.settings.state_policies import Policies
from replication.state import PRODUCERS_TOPIC


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_of_several_gaps_of_a_partition_the_first_is_looked_at():
    gaps, partition = AppendGaps(), a_partition(a_start())
    gaps.note(partition, 5)
    gaps.note(partition, 9)
    assert gaps.starts == {partition: 5}


def test_a_partition_is_looked_at_now_and_then_not_at_every_gap(clock):
    gaps, partition, other = AppendGaps(), a_partition(a_start(0)), a_partition(a_start(1))
    gaps.note(partition, 5)
    gaps.checked(partition)
    clock[0] += 29.0
    gaps.note(partition, 9)
    gaps.note(other, 7)
    assert gaps.starts == {other: 7}
    clock[0] += 1.0
    gaps.note(partition, 11)
    assert gaps.starts == {other: 7, partition: 11}


def test_where_another_flow_reads_the_target_gaps_are_no_surprise():
    gaps = AppendGaps(expected=True)
    gaps.note(a_partition(a_start()), 5)
    assert not gaps.starts


def test_a_partition_that_leaves_the_unit_asks_for_no_recovery():
    queue, partition, leaving = RecoveryQueue(), a_partition(a_start(0)), a_partition(a_start(1))
    leaving.leaving = True
    queue.add(leaving)
    assert not queue.added.is_set()
    queue.add(partition)
    assert queue.added.is_set()
    assert queue.partitions == {partition}


class Checking:
    """A target with a gap at offset 1, in which ``producer_id`` appended."""

    def __init__(self, producer_id: int, policy: str = "continue") -> None:
        self.partition, self.target = a_partition(a_start()), MemoryCluster()
        log = self.target.logs[self.partition.target]
        log.append(a_batch(0, [b"before the gap"], (FOREIGN + 1, 0, 0)))
        log.append(a_marker(0, FOREIGN + 2, 0))
        log.append(a_batch(0, [b"ours"], (OURS, 1, 0)))
        log.append(a_batch(0, [b"in it"], (producer_id, -1 if producer_id < 0 else 0, 0)))
        spec = UnitSpec(
            "f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(target_foreign=policy)
        )
        self.dispatched: list = []
        gaps, registry = AppendGaps(), SourceRegistry(self.target)
        gaps.note(self.partition, 1)
        self.writers = ForeignWriters(spec, self.target, registry, gaps, self.dispatched.append)
        self.partition.anchor_changes.clear()

    async def _run(self) -> None:
        await StateLog(self.target, PRODUCERS_TOPIC).append(REGISTRY)
        running = asyncio.create_task(self.writers.run())
        async with asyncio.timeout(10):
            while self.writers.gaps.starts and not running.done():  # noqa: ASYNC110 -- a plain dict
                await asyncio.sleep(0.001)
        assert running.cancel()  # it runs until then

    def check(self) -> None:
        asyncio.run(self._run())


@pytest.fixture
def at_once(monkeypatch) -> None:
    monkeypatch.setattr(foreign_writers, "_EVERY_S", 0.0)


@pytest.mark.parametrize(
    ("producer_id", "name"), [(FOREIGN, f"producer id {FOREIGN}"), (-1, "producer without a")]
)
@pytest.mark.usefixtures("at_once")
def test_a_foreign_producer_in_the_gap_is_named_with_its_offset_and_copying_goes_on(
    producer_id, name
):
    checking = Checking(producer_id)
    checking.check()
    state, reason = checking.partition.state_and_reason
    assert state is PartitionState.RUNNING
    assert name in reason
    assert reason.endswith("writes to the target topic: offset 3")
    assert (checking.partition.error, checking.dispatched) == (None, [])
    assert checking.partition in checking.partition.anchor_changes


@pytest.mark.usefixtures("at_once")
def test_a_foreign_producer_halts_the_partition_where_the_policy_says_so():
    checking = Checking(FOREIGN, "stop")
    checking.check()
    error = checking.partition.error
    assert (error.recovery, error.state) == (Recovery.DECIDE, PartitionState.TARGET_FOREIGN)
    assert checking.dispatched == [checking.partition]


@pytest.mark.parametrize("producer_id", [OURS, FORWARDED])
@pytest.mark.usefixtures("at_once")
def test_our_producer_and_those_in_the_registry_are_not_foreign(producer_id):
    checking = Checking(producer_id, "stop")
    checking.check()
    assert (checking.partition.error, checking.partition.status.remark) == (None, "")


@pytest.mark.usefixtures("at_once")
def test_a_damaged_batch_on_the_target_is_named_and_the_check_is_not_repeated_at_once():
    checking = Checking(FOREIGN)
    batches = checking.target.logs[checking.partition.target].batches
    batches[2] = batches[2][:-1] + b"?"
    checking.target.fetch = unchecked(checking.target, checking.partition.target)
    checking.check()
    state, reason = checking.partition.state_and_reason
    assert (state, reason) == (
        PartitionState.RUNNING,
        "reading t-0 at offset 2: the checksum does not match",
    )
    assert checking.partition in checking.partition.anchor_changes


def unchecked(cluster: MemoryCluster, where):
    """Return a Fetch that returns the whole log of ``where`` without a look at it."""
    fetch = cluster.fetch

    async def answer(node, entries, options, into):
        if entries[0].topic_id != cluster.topic_id(where.topic):
            return await fetch(node, entries, options, into)
        records = memoryview(b"".join(cluster.logs[where].batches))
        (each,) = entries
        return [Fetched(each.topic_id, each.partition, 0, 9, 9, 0, [], -1, records)]

    return answer
