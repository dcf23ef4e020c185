"""Fencing a flow's producers from outside, and counting what they appended."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fakes.memory_network import FENCED, MemoryCluster

from replication.client.state_topic.state_log import StateLog
from replication.copier.takeover import takeover
from replication.model import Mode, ProducerIdAndEpoch, TopicPartition
from replication.records.batch import restamp
from replication.records.codec import encode, plain_record
from replication.recovery import flow_fence
from replication.recovery.flow_fence import Appenders, fence_flow
from replication.recovery.proven_positions import prove_positions
from replication.state import Anchor, Claim, anchors_topic

ANCHORS = anchors_topic("A")
UNIT = "isthmus.A->B.unit-0"
HERE = TopicPartition("t", 0)


def a_batch(producer: ProducerIdAndEpoch, sequence: int, count: int = 1) -> bytes:
    records = [plain_record(n, b"k", b"v") for n in range(count)]
    batch = bytearray(encode(records))
    restamp(batch, *producer, sequence)
    return bytes(batch)


class Target:
    """A target in memory on which a unit has appended behind its anchor."""

    def __init__(self, **changes) -> None:
        self.cluster = MemoryCluster("B")
        self.changes = changes

    async def prepare(self) -> ProducerIdAndEpoch:
        producer = await self.cluster.init_producer_id(UNIT)
        appenders = ((UNIT, producer.producer_id),)
        anchor = Anchor("A->B", "t", 0, "t", 3, 3, appenders, 4, records=3, bytes=300)
        self.log = StateLog(self.cluster, ANCHORS)
        await self.log.append([replace(anchor, **self.changes)])
        for number in range(5):
            self.append(a_batch(producer, number))
        return producer

    def append(self, batch: bytes) -> int:
        return self.cluster.logs[HERE].append(batch)[0]

    async def fence(self, generation: int = 5):
        return await fence_flow("A->B", self.cluster, StateLog(self.cluster, ANCHORS), generation)


def test_after_the_fence_no_append_of_a_unit_lands_and_what_it_appended_is_counted():
    async def scenario() -> None:
        target = Target()
        producer = await target.prepare()
        found = await target.fence()
        assert target.append(a_batch(producer, 5)) == FENCED
        assert set(found.markers) == {UNIT}
        assert found.unclean == {HERE}
        (position,) = await prove_positions("op", found, target.cluster, ())
        assert (position.source, position.target, position.exact) == (5, 6, False)

    asyncio.run(scenario())


def test_a_claim_of_a_higher_generation_tells_the_units_that_they_are_outranked():
    async def scenario() -> None:
        target = Target()
        producer = await target.prepare()
        await target.fence(generation=9)
        await target.fence(generation=9)
        records = await StateLog(target.cluster, ANCHORS).read_on()
        claims = [each for each in records if isinstance(each, Claim)]
        assert claims == [Claim("A->B", "t", 0, ((UNIT, producer.producer_id),), generation=9)]

    asyncio.run(scenario())


@pytest.mark.parametrize("changes", [{"clean": True}, {"flow": "C->B"}])
def test_where_no_producer_may_append_nothing_is_fenced(changes):
    async def scenario() -> None:
        target = Target(**changes)
        await target.prepare()
        found = await target.fence()
        assert not found.markers
        assert not found.unclean

    asyncio.run(scenario())


def test_the_position_of_a_transactional_copy_is_its_anchor():
    async def scenario() -> None:
        target = Target(mode=Mode.TRANSACTIONAL)
        await target.prepare()
        (position,) = await prove_positions("op", await target.fence(), target.cluster, ())
        assert (position.source, position.target, position.exact) == (3, 3, True)

    asyncio.run(scenario())


@pytest.mark.parametrize("appenders", [(("", 501),), (("", 501), (UNIT, 100))])
def test_a_producer_without_a_transactional_id_is_outranked_and_waited_for(monkeypatch, appenders):
    waits: list[bool] = []

    async def scenario() -> None:
        target = Target(appenders=appenders, mode=Mode.AT_LEAST_ONCE)
        await target.prepare()

        async def outwait() -> None:
            waits.append(True)
            (*_, claim) = await StateLog(target.cluster, ANCHORS).read_on()
            assert (claim.appenders, claim.generation) == (appenders, 5)
            target.append(a_batch(ProducerIdAndEpoch(501, 0), 0))  # it was on its way

        monkeypatch.setattr(flow_fence, "_outwait", outwait)
        found = await target.fence()
        (position,) = await prove_positions("op", found, target.cluster, ())
        # It appended an unknown number of records behind the anchor, all of them before the end.
        assert (position.source, position.exact) == (3, False)
        assert position.target == target.cluster.logs[HERE].end

    asyncio.run(scenario())
    assert waits == [True]


def test_an_expired_transactional_id_is_waited_for_as_long_as_a_lease_and_a_request_last(
    monkeypatch,
):
    waits: list[bool] = []

    async def outwait() -> None:
        waits.append(True)

    async def scenario() -> None:
        target = Target()
        await target.prepare()
        target.cluster.expire(UNIT)
        await target.fence()

    monkeypatch.setattr(flow_fence, "_outwait", outwait)
    asyncio.run(scenario())
    assert waits == [True]
    assert flow_fence._REQUEST_TIMEOUT_S == takeover._REQUEST_TIMEOUT_S


def removed_by_compaction(target: Target) -> None:
    target.cluster.logs[HERE].compact(3, 4)


def removed_by_retention(target: Target) -> None:
    target.cluster.logs[HERE].delete_before(5)


@pytest.mark.parametrize("removed", [removed_by_compaction, removed_by_retention])
def test_a_position_behind_which_the_target_has_lost_records_is_not_exact(removed):
    async def scenario() -> None:
        target = Target()
        await target.prepare()
        found = await target.fence()
        removed(target)
        (position,) = await prove_positions("op", found, target.cluster, ())
        assert (position.source, position.target, position.exact) == (3, 6, False)

    asyncio.run(scenario())


def deleted(target: Target) -> None:
    target.cluster.hidden.add(HERE.topic)


def emptied(target: Target) -> None:
    del target.cluster.logs[HERE]


@pytest.mark.parametrize("lost", [deleted, emptied])
def test_a_copy_that_was_deleted_or_emptied_on_the_target_holds_up_no_failover(lost):
    async def scenario() -> None:
        target = Target()
        await target.prepare()
        lost(target)
        (position,) = await prove_positions("op", await target.fence(), target.cluster, ())
        assert (position.source, position.exact) == (3, False)

    asyncio.run(scenario())


def test_a_copy_that_was_recreated_on_the_target_is_not_counted():
    async def scenario() -> None:
        target = Target(target_topic_id="00ff")
        await target.prepare()
        (position,) = await prove_positions("op", await target.fence(), target.cluster, ())
        assert (position.source, position.target, position.exact) == (3, 3, False)

    asyncio.run(scenario())


def test_a_claim_changes_who_may_append_and_not_the_position():
    seen = Appenders("A->B")
    anchor = Anchor("A->B", "t", 0, "t", 3, 3, ((UNIT, 1),), 4, clean=True)
    seen.learn([anchor, Claim("A->B", "t", 0, ((UNIT, 1), ("other", 2)), 5)])
    (held,) = seen.unclean.values()
    assert (held.source, held.appenders, held.generation) == (3, ((UNIT, 1), ("other", 2)), 5)


def test_where_the_status_is_lost_the_anchors_say_above_which_generation_a_claim_outranks():
    seen = Appenders("A->B")
    assert seen.above(3) == 4
    seen.learn([Anchor("A->B", "t", 0, "t", 3, 3, ((UNIT, 1),), 7)])
    assert (seen.above(3), seen.above(9)) == (8, 10)
    seen.learn([Claim("A->B", "t", 0, ((UNIT, 1),), generation=8)])
    assert seen.above(0) == 9
