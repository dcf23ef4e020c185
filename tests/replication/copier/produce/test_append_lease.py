"""Leases: what was fetched before a unit was frozen is not sent unless it still may (W)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.copier.append_leases import held, lapsed
from support.copier.partition_copies import a_partition, a_start, fill
from support.copier.produce_requests import Wire
from support.copier.two_clusters import a_spec
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

from replication.adapters.wire.connection import channel
from replication.client.network import NotGranted
from replication.client.producer_identity import ProducerIdentity
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition import copy_status
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.copier.partition.position import Position, claim
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.partition_upkeep import PartitionUpkeep
from replication.copier.produce import lease_renewal
from replication.copier.produce.append_lease import LEASE_S, AppendLease
from replication.copier.produce.lease_renewal import LeaseRenewal
from replication.copier.produce.producers import Producers
from replication.copier.produce.sender import Sender
from replication.copier.spec import UnitSpec
from replication.copier.takeover import takeover
from replication.copier.takeover.connections import new_connections
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken
from replication.model import PartitionState

NAME = "isthmus.f.0"
SPEC = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {})
KERNEL_S = 15.0  # TCP_USER_TIMEOUT of the connections


def test_a_lease_begins_lapsed_and_lapses_without_a_renewal():
    assert not AppendLease().holds()
    assert held().holds()
    assert held(LEASE_S - 1).holds()
    assert not held(LEASE_S).holds()


def test_what_waits_is_not_sent_after_the_lease_has_lapsed_until_it_is_renewed():
    partition = fill(a_partition(a_start()), 9)
    wire = Wire(partition)
    assert len(wire.open) == 5
    wire.sender.lease = lapsed()
    wire.answer(0)  # the answer to what was sent before makes room
    assert len(wire.open) == 4
    assert wire.sender.lease.lapsed.is_set()  # whoever renews it is woken
    assert partition.acked.source == 1
    wire.sender.lease = held()
    wire.sender.pump()
    assert len(wire.open) == 5


@given(
    asked_before_s=st.floats(0, 3600),
    frozen_s=st.floats(0, 1e6),
    unsent_s=st.floats(0, channel._STUCK_S),
    in_kernel_s=st.floats(0, KERNEL_S),
)
def test_what_a_former_owner_sends_arrives_before_a_takeover_counts(
    asked_before_s, frozen_s, unsent_s, in_kernel_s
):
    """BL-218: ``asked_before_s``: how long before the takeover the former owner asked last."""
    if not held(asked_before_s + frozen_s).holds():
        return  # it sends nothing
    sent_s = frozen_s  # after the takeover began
    assert sent_s + unsent_s + in_kernel_s < takeover._REQUEST_TIMEOUT_S


class Renewing:
    """A unit with one running partition whose lease has lapsed."""

    def __init__(self) -> None:
        self.target = MemoryCluster()
        self.connections = new_connections(
            a_spec(flow="f"), MemoryCluster("source"), self.target, {}
        )
        self.partition = a_partition(a_start())
        self.recoveries = RecoveryQueue()
        self.sender = Sender(self.target, self.recoveries, AppendGaps(), lease=lapsed())

    async def begin(self, name: str = NAME) -> LeaseRenewal:
        me = ProducerIdentity(name, 500, 0, 1)
        if name:
            me = ProducerIdentity(name, *await self.target.init_producer_id(name), 1)
        log = self.connections.takeover.anchors
        await log.own(me.producer)
        self.partition.claimed = claim(replace(a_start(), clean=True), me)
        await log.append([self.partition.claimed])
        producers = Producers(SPEC, self.connections, [self.partition], me, self.sender)
        return LeaseRenewal(producers, self.sender)

    async def claim_for(self, name: str, generation: int = 1) -> None:
        """Let another process claim the partition with a transactional id."""
        other = ProducerIdentity(name, *await self.target.init_producer_id(name), generation)
        there = new_connections(a_spec(flow="f"), MemoryCluster("source"), self.target, {}).takeover
        await there.anchors.append([claim(self.partition.claimed, other)])


def renewed(between=None, name: str = NAME, lease: AppendLease | None = None) -> Renewing:
    """Renew the lease of a unit after ``between``; it has lapsed unless another one is given."""
    unit = Renewing()
    unit.sender.lease = lease or lapsed()

    async def renew() -> None:
        renewal = await unit.begin(name)
        if between is not None:
            await between(unit)
        await renewal.renew()

    asyncio.run(renew())
    return unit


def test_a_unit_whose_producer_is_current_appends_on_and_keeps_its_epoch():
    unit = renewed()
    assert unit.sender.lease.holds()
    assert unit.partition.error is None
    assert unit.target.events.count(("init", NAME)) == 1


async def until(reached) -> None:
    for _ in range(10_000):
        if reached():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not happen in time")


async def expire(unit: Renewing) -> None:
    unit.target.expire(NAME)


def test_a_unit_whose_id_expired_takes_its_partitions_over_before_it_sends():
    unit = renewed(expire)
    assert not unit.sender.lease.holds()
    assert unit.partition.error.recovery is Recovery.TAKE_OVER
    assert unit.recoveries.partitions == {unit.partition}


@pytest.mark.parametrize("state", ["halted", "to decide"])
def test_a_unit_whose_id_expired_and_that_can_take_nothing_over_gets_a_new_one(state):
    """Else the policy is never applied: it is not while the lease has lapsed."""

    async def expire_and_halt(unit: Renewing) -> None:
        unit.target.expire(NAME)
        if state == "halted":
            unit.partition.halt(PartitionState.REFUSED, "too large")
        else:
            unit.partition.record_error(PartitionError(Recovery.DECIDE, "too large"))

    unit = renewed(expire_and_halt)
    assert unit.sender.lease.holds()
    assert unit.target.events.count(("init", NAME)) == 2


def test_while_a_takeover_renews_the_lease_the_target_is_not_asked_without_a_pause():
    unit = Renewing()

    async def run() -> int:
        renewal = await unit.begin()
        unit.target.expire(NAME)
        task = asyncio.create_task(renewal.run())
        await until(lambda: unit.recoveries.partitions)
        assert not unit.sender.lease.holds()  # somebody waits for it
        for _ in range(200):
            await asyncio.sleep(0)
        task.cancel()
        return unit.target.events.count(("current", NAME))

    assert asyncio.run(run()) <= 2


@pytest.mark.parametrize("is_expired", [True, False])
def test_an_anchor_that_replaced_our_claim_without_an_appender_is_claimed_again(is_expired):
    """A partition that halted before it was taken over has such an anchor, and writes it late."""

    async def written_late(unit: Renewing) -> None:
        halted = replace(a_start(), source=None, target=None, clean=True, appenders=())
        await unit.connections.takeover.anchors.append([halted])
        if is_expired:
            unit.target.expire(NAME)
        else:
            await unit.target.init_producer_id(NAME)  # which fences ours

    unit = renewed(written_late)
    assert unit.partition.error.recovery is Recovery.TAKE_OVER
    assert unit.recoveries.partitions == {unit.partition}


@pytest.mark.parametrize("generation", [1, 2], ids=["same driver", "newer driver"])
def test_a_unit_that_was_started_elsewhere_under_another_producer_id_ends(generation):
    async def started_elsewhere(unit: Renewing) -> None:
        unit.target.expire(NAME)
        await unit.claim_for(NAME, generation)

    with pytest.raises(FlowTaken, match=r"started this unit|generation 2"):
        renewed(started_elsewhere)


def test_a_partition_that_another_unit_claimed_is_taken_over_before_anything_is_sent():
    async def moved(unit: Renewing) -> None:
        await unit.claim_for("isthmus.f.1")
        await unit.target.init_producer_id(NAME)  # which fences ours

    unit = renewed(moved)
    assert unit.partition.error.recovery is Recovery.TAKE_OVER
    assert ("isthmus.f.1", 101) in unit.partition.claimed.appenders


@pytest.mark.parametrize("times", [1, 2], ids=["once", "again"])
def test_what_another_unit_appended_meanwhile_is_counted_after_it_was_fenced(times):
    """Nothing of ours is in flight, which does not make the end of its copy a clean one."""
    unit, other = Renewing(), "isthmus.f.1"
    partition, log = unit.partition, unit.target.logs[unit.partition.target]

    async def take_back() -> None:
        renewal = await unit.begin()
        partition.set_position(Position(0, log.end))
        upkeep = PartitionUpkeep(
            unit.connections, renewal.producers, unit.sender, None, None, unit.recoveries
        )
        for epoch in range(times):
            await unit.claim_for(other)
            await unit.target.init_producer_id(NAME)
            log.append(a_batch(0, [b"copied", b"there"], (101, 2 * epoch, 0)))
            await renewal.renew()
            assert not partition.anchor(0, clean=True).clean
            await upkeep._take_over([partition])
            assert partition.counted.skip == 2
            assert unit.target._producers[other].epoch == 2 * epoch + 1
            partition.set_position(Position(partition.counted.skip, log.end))  # it has skipped them

    asyncio.run(take_back())


def test_a_unit_that_another_one_fenced_goes_on_where_its_partitions_are_its_own():
    async def fenced(unit: Renewing) -> None:
        await unit.target.init_producer_id(NAME)

    unit = renewed(fenced)
    assert unit.sender.lease.holds()
    assert unit.partition.error is None
    assert unit.target.events.count(("init", NAME)) == 3  # it has a new epoch


@pytest.mark.parametrize("lease", [lapsed, held])
def test_a_copy_that_cannot_be_fenced_ends_when_a_newer_driver_has_claimed_it(lease):
    assert renewed(name="", lease=lease()).sender.lease.holds()

    async def newer_driver(unit: Renewing) -> None:
        await unit.claim_for("isthmus.f.0", 2)

    with pytest.raises(FlowTaken, match="generation 2"):
        renewed(newer_driver, "", lease())


def test_a_lease_that_cannot_be_renewed_stays_lapsed_and_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(lease_renewal, "_RETRY_S", 0.001)
    unit, asked = Renewing(), []

    async def current(name: str):
        asked.append(name)
        if len(asked) < 3:
            assert not unit.sender.lease.holds()
            raise ClusterUnavailable("no")
        return await MemoryCluster.current_producer(unit.target, name)

    async def run() -> None:
        renewal = await unit.begin()
        unit.target.current_producer = current
        task = asyncio.create_task(renewal.run())
        await until(unit.sender.lease.holds)
        task.cancel()

    asyncio.run(run())
    assert len(asked) == 3


def test_a_target_that_may_not_say_whose_id_it_is_ends_the_unit_with_what_to_do():
    async def refused(unit: Renewing) -> None:
        async def current(_name: str):
            raise NotGranted("DescribeTransactions for isthmus.f.0: error 53")

        unit.target.current_producer = current

    expected = (
        r"f: B does not say which producer holds isthmus\.f\.0 \(.* error 53\): "
        r"grant Isthmus' user DESCRIBE on the TransactionalId isthmus\.f \(prefixed\)"
    )
    with pytest.raises(ClusterRejected, match=expected):
        renewed(refused)


def test_a_partition_that_waits_for_the_lease_for_long_is_not_running_and_says_why(monkeypatch):
    """For its coordinator may be gone for long although the leaders of all partitions are there."""
    monkeypatch.setattr(lease_renewal, "_RETRY_S", 0.001)
    monkeypatch.setattr(copy_status, "PATIENCE_S", 0.0)
    unit, idle = Renewing(), a_partition(a_start(1))
    idle.set_position(Position(0, 0))

    async def current(_name: str):
        raise ClusterUnavailable("the coordinator is gone")

    async def run() -> None:
        renewal = await unit.begin()
        renewal.producers.partitions.append(idle)
        unit.partition.set_position(Position(0, 0))
        fill(unit.partition, 1)
        unit.sender.lead[unit.partition] = 0
        asked, unit.target.current_producer = unit.target.current_producer, current
        task = asyncio.create_task(renewal.run())
        await until(lambda: unit.partition.status.reason)
        state, reason = unit.partition.state_and_reason
        assert state is PartitionState.WAITING
        assert reason == f"{lease_renewal._UNKNOWN}: the coordinator is gone"
        assert idle.state_and_reason == (PartitionState.RUNNING, "")
        unit.target.current_producer = asked
        unit.sender.offer(unit.partition)
        await until(lambda: unit.partition.acked.source)
        assert unit.partition.state_and_reason == (PartitionState.RUNNING, "")
        task.cancel()

    asyncio.run(run())


def test_an_id_that_is_not_used_otherwise_is_kept_alive(monkeypatch):
    monkeypatch.setattr(lease_renewal, "_KEEP_ALIVE_S", 0.0)
    unit = Renewing()

    async def run() -> int:
        renewal = await unit.begin()
        task = asyncio.create_task(renewal.run())
        log = unit.target.logs[unit.connections.takeover.anchors.partition]
        before = log.end
        await until(lambda: log.end > before)
        task.cancel()
        return log.end - before

    assert asyncio.run(run()) == 1
