"""Leaders and fetchers of partitions, and what becomes of one whose topic was recreated."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.copier.partition_copies import OURS, a_partition, a_start, fill
from support.copier.two_clusters import a_spec
from support.fakes.memory_network import MemoryCluster

from replication.client.fetch_values import Leader
from replication.client.producer_identity import ProducerIdentity
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.partition_upkeep import PartitionUpkeep
from replication.copier.produce.sender import Sender
from replication.copier.takeover.connections import new_connections
from replication.errors import ClusterUnavailable
from replication.model import PartitionState, ProducerIdAndEpoch


class Led(MemoryCluster):
    """A cluster with this leader, and topics of these ids."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.led: Leader | None = Leader(0, 7)
        self.ids: dict[str, bytes | None] = {}
        self.unready: set[int] = set()  # brokers that refuse connections

    def leader(self, partition):
        return self.led

    def topic_id(self, topic):
        return self.ids.get(topic, topic.encode().ljust(16, b"i"))

    async def ready(self, node: int) -> None:
        self.events.append(("ready", node))
        if node in self.unready:
            raise ClusterUnavailable(f"broker {node}")


class Fetchers:
    """Which partitions have a fetcher."""

    def __init__(self) -> None:
        self.assigned, self.starts = [], 0

    def assign(self, partition) -> None:
        self.assigned.append(partition)

    def unassign(self, partition) -> None:
        self.assigned.remove(partition)

    def start(self) -> None:
        self.starts += 1


class Stage:
    """Two partitions of one unit, with three fetched records each."""

    def __init__(self) -> None:
        self.source, self.target = Led("source"), Led("target")
        connections = new_connections(a_spec(flow="f"), self.source, self.target, {})
        self.recoveries, self.fetchers = RecoveryQueue(), Fetchers()
        self.sender = Sender(self.target, self.recoveries, AppendGaps())
        self.upkeep = PartitionUpkeep(
            connections, None, self.sender, self.fetchers, None, self.recoveries
        )
        self.partitions = [fill(a_partition(a_start(0, topic)), 3) for topic in ("t", "u")]

    def arrange(self) -> None:
        asyncio.run(self.upkeep.arrange(self.partitions))


def recreated(stage: Stage) -> None:
    stage.source.ids["t"] = b"another id......"


def test_a_partition_whose_source_topic_was_recreated_is_halted_and_the_other_goes_on():
    """The records that it fetched are of the former topic: they must not meet the new ones."""
    stage = Stage()
    former, other = stage.partitions
    stage.recoveries.add(former)
    recreated(stage)
    stage.arrange()
    assert former.state_and_reason == (
        PartitionState.SOURCE_RECREATED, "the source topic was deleted and recreated",
    )  # fmt: skip
    assert not former.queue.waiting
    assert not former.fetches
    assert stage.fetchers.assigned == [other]
    assert stage.recoveries.partitions == set()
    assert other.state is PartitionState.RUNNING
    assert stage.sender.lead == {other: 0}


def test_while_a_response_is_due_a_recreated_topic_is_not_halted_yet():
    """The connection may still read the bytes of what was sent, and the ack still counts."""
    stage = Stage()
    former = stage.partitions[0]
    former.queue.next_batch()
    recreated(stage)
    stage.arrange()
    assert former.state is PartitionState.RUNNING
    assert former.queue.responses_due == 1
    former.queue.responses_due = 0
    stage.arrange()
    assert former.state is PartitionState.SOURCE_RECREATED


def test_a_topic_that_is_not_listed_for_now_was_not_recreated():
    stage = Stage()
    stage.source.ids["t"] = None
    stage.arrange()
    assert [each.state for each in stage.partitions] == [PartitionState.RUNNING] * 2
    assert stage.fetchers.assigned == stage.partitions
    assert stage.fetchers.starts == 1


def test_a_halted_partition_keeps_the_reason_that_it_was_halted_for():
    stage = Stage()
    stage.partitions[0].halt(PartitionState.LOST_RANGE, "retention took it")
    recreated(stage)
    stage.arrange()
    assert stage.partitions[0].state_and_reason == (PartitionState.LOST_RANGE, "retention took it")
    assert stage.fetchers.assigned == [stage.partitions[1]]
    assert stage.sender.lead == {stage.partitions[1]: 0}


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_partition_without_a_leader_backs_off_and_says_on_which_side(side):
    stage = Stage()
    getattr(stage, side).led = None
    stage.arrange()
    for each in stage.partitions:
        assert each.status.reason == f"the {side} partition has no leader"
        assert each.retry_at is not None
    assert stage.recoveries.partitions == set(stage.partitions)
    assert bool(stage.fetchers.assigned) == (side == "target")
    assert bool(stage.sender.lead) == (side == "source")


def test_a_new_leader_gets_what_is_waiting_and_its_connection_is_opened_before():
    stage = Stage()
    stage.arrange()
    stage.target.led = Leader(4, 8)
    stage.target.unready = {4}
    stage.arrange()
    assert stage.sender.lead == dict.fromkeys(stage.partitions, 4)
    assert stage.target.events == [("ready", 0), ("ready", 4)]


@pytest.mark.parametrize("age_s", [5, 15])
def test_what_may_have_been_appended_is_counted_once_the_target_may_have_forgotten_it(age_s):
    """BL-240: it reckons its memory of a producer from the timestamps of the records."""
    stage = Stage()
    stage.arrange()
    one, other = stage.partitions
    stage.sender.pump()
    for each in stage.partitions:
        each.queue.next_batch().in_doubt = each is one
        each.queue.responses_due = 0
        for batch in (*each.queue.in_flight, *each.queue.waiting):
            batch.timestamp = int(time.time() - age_s) * 1000
        each.record_error(PartitionError(Recovery.RETRY, "the connection broke"))
        stage.sender.dispatch(each)
        each.retry_at = 0.0
    stage.upkeep._resume()
    assert stage.recoveries.partitions == ({one} if age_s > 10 else set())
    assert other.fetches
    if age_s > 10:
        assert one.error == PartitionError(Recovery.TAKE_OVER, "the connection broke")


def test_under_a_new_leader_the_first_batch_is_sent_alone():
    stage = Stage()
    stage.arrange()
    for each in stage.partitions:
        each.queue.writer.proven = True
    stage.target.led = Leader(4, 8)
    stage.arrange()
    assert [each.queue.writer.proven for each in stage.partitions] == [False, False]


def test_what_leaves_the_unit_is_neither_fetched_nor_sent_nor_recovered():
    stage = Stage()
    stage.arrange()
    leaving, other = stage.partitions
    stage.recoveries.add(leaving)
    stage.upkeep.remove([leaving])
    leaving.record_error(PartitionError(Recovery.TAKE_OVER, "late"))
    stage.sender.dispatch(leaving)
    assert stage.recoveries.partitions == set()
    assert stage.fetchers.assigned == [other]
    assert stage.sender.lead == {other: 0}
    assert not leaving.sends


class Renewed:
    """The producer of the partitions, with a new epoch for each takeover."""

    def __init__(self, target: Led) -> None:
        target.grant("x", ProducerIdAndEpoch(OURS, 1))
        self._target = target

    async def renew(self) -> None:
        self.me = ProducerIdentity("x", *await self._target.init_producer_id("x"), 1)


@pytest.mark.parametrize("recovery", [Recovery.RETRY, Recovery.TAKE_OVER, Recovery.DECIDE])
def test_a_partition_that_fails_while_others_are_still_counted_is_recovered_as_well(recovery):
    """It is fetched as soon as its own position is known, and its source's leader may move then."""
    stage = Stage()
    stage.upkeep.producers = Renewed(stage.target)
    exact, counted = stage.partitions
    exact.exact = True
    counted.queue.next_batch()
    counted.queue.responses_due = 0
    for each in stage.partitions:
        each.record_error(PartitionError(Recovery.TAKE_OVER, "a newer producer fenced ours"))
        stage.sender.dispatch(each)
    fence, fetched = stage.target.fence, []

    async def fence_late(*given) -> None:
        fetched.append((exact.fetches, counted.fetches))
        exact.record_error(PartitionError(recovery, "the source partition's leader changed"))
        stage.sender.dispatch(exact)
        await fence(*given)

    stage.target.fence = fence_late
    asyncio.run(stage.upkeep._recover())
    assert fetched == [(True, False)]
    assert counted.fetches
    assert stage.recoveries.partitions == {exact}
    assert exact.state_and_reason[1] == (
        "the source partition's leader changed" if recovery is Recovery.RETRY else ""
    )
    if recovery is Recovery.RETRY:
        exact.retry_at = 0.0
        stage.upkeep._resume()
        assert exact.fetches
        assert stage.recoveries.partitions == set()
