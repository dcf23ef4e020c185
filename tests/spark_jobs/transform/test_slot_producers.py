"""Which driver of a transform writes its positions: the last one that took it, no former one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fakes.memory_network import MemoryCluster
from support.settings.configs import a_flow

from replication.client.network import Fenced
from replication.client.state_topic.state_log import StateLog
from replication.copier.unit_assignment import unit_of
from replication.errors import ClusterRejected
from replication.model import Mode, PartitionPlan, PartitionState, TopicPartition
from replication.recovery.flow_fence import Appenders, fence_flow
from replication.recovery.proven_positions import prove_positions
from replication.settings.state_policies import Policies
from replication.state import PRODUCERS_TOPIC, Anchor, Claim, Loss, ProducerEntry, anchors_topic
from spark_jobs.transform.run.transform_placement import Placement
from spark_jobs.transform.slot_producers import SlotProducers
from spark_jobs.transform.task.task_process import Connected
from spark_jobs.transform.task.work import TaskClusters

HERE = TopicPartition("orders", 0)
PLAN = PartitionPlan(HERE, TopicPartition("A.orders", 0))
ANCHOR = Anchor("A->B", *HERE, "A.orders", 100, 50, clean=True, mode=Mode.TRANSACTIONAL)


class Stage:
    """Two clusters; the source's log of ``HERE`` begins at ``start``."""

    def __init__(self, start: int = 0) -> None:
        self.source, self.target = MemoryCluster("a"), MemoryCluster("b")
        self.source.logs[HERE].start = self.source.logs[HERE].end = start
        self.flow = a_flow()

    async def taken(self, generation: int) -> SlotProducers:
        """Return the producers of a driver that has just taken the transform."""
        connected = Connected(self.source, self.target, None)
        producers = SlotProducers(TaskClusters("A->B", "A", {}, {}), connected, generation, 0, 2)
        await producers.take()
        return producers

    async def stored(self, topic: str) -> list:
        return await StateLog(self.target, topic).read_on()


def frozen(write, start: int = 0) -> list:
    """Return what is stored in the end where a driver thaws that another one has followed.

    The former one wrote offset 100 and was frozen, the latter one went on to 200. ``write`` is what
    the former one does then.
    """

    async def run() -> list:
        stage = Stage(start)
        former = await stage.taken(1)
        await former.write(ANCHOR)
        latter = await stage.taken(2)
        assert latter.anchors == {HERE: ANCHOR}
        await latter.write(replace(ANCHOR, source=200, target=150))
        with pytest.raises(Fenced):
            await write(stage, former)
        return [each for each in await stage.stored(anchors_topic("A")) if _is_position(each)]

    return asyncio.run(run())


def _is_position(record) -> bool:
    return isinstance(record, Anchor | Loss)


BOTH = [ANCHOR, replace(ANCHOR, source=200, target=150)]


def test_a_driver_that_was_frozen_places_no_partition_where_it_was_before():
    assert frozen(lambda stage, former: Placement(stage.flow, former).place([PLAN])) == BOTH


def test_a_driver_that_was_frozen_tells_no_loss_of_what_another_one_has_transformed():
    async def lose(stage, former):
        await Placement(stage.flow, former).behind_lost_range(ANCHOR)

    assert frozen(lose, start=120) == BOTH


def test_what_a_loss_costs_and_where_it_ends_is_written_at_once():
    async def run():
        stage = Stage(start=120)
        policies = Policies(lost_range="continue")
        stage.flow = stage.flow.model_copy(update={"policies": policies})
        producers = await stage.taken(1)
        found = await Placement(stage.flow, producers).behind_lost_range(ANCHOR)
        return found, [e for e in await stage.stored(anchors_topic("A")) if _is_position(e)]

    found, (loss, anchor) = asyncio.run(run())
    assert (loss.first, loss.next, loss.state) == (100, 120, PartitionState.LOST_RANGE)
    assert (found.source, anchor) == (120, found)


def test_a_failover_fences_the_task_of_a_first_batch():
    """No anchor of a task is there yet: the driver's own names the task."""

    async def run():
        stage = Stage()
        producers = await stage.taken(1)
        await Placement(stage.flow, producers).place([PLAN])
        log = StateLog(stage.target, anchors_topic("A"))
        fence = await fence_flow("A->B", stage.target, log, 2)
        me = producers.identities[unit_of(*HERE, 2)]
        assert [*fence.markers] == [me.transactional_id]
        with pytest.raises(Fenced):
            await stage.target.end_transaction(me.transactional_id, me.producer, commit=True)
        return await prove_positions("f1", fence, stage.target, ())

    assert [(each.source, each.exact) for each in asyncio.run(run())] == [(0, True)]


def ended(before_end=None) -> tuple[list[bool], dict]:
    """Return whether each anchor that is stored is clean, and who may append in the end."""

    async def run():
        stage = Stage()
        producers = await stage.taken(1)
        await Placement(stage.flow, producers).place([PLAN])
        log = StateLog(stage.target, anchors_topic("A"))
        await log.append(before_end or [])
        await producers.end([HERE])
        with pytest.raises(Fenced):
            await commit(stage, producers)
        records = await StateLog(stage.target, anchors_topic("A")).read_on()
        seen = Appenders("A->B")
        seen.learn(records)
        return [each.clean for each in records if isinstance(each, Anchor)], seen.unclean

    return asyncio.run(run())


async def commit(stage: Stage, producers: SlotProducers) -> None:
    """Commit a transaction as the task that transforms ``HERE``."""
    me, log = producers.identities[unit_of(*HERE, 2)], TopicPartition(anchors_topic("A"), 0)
    await stage.target.add_to_transaction(me.transactional_id, me.producer, [log])
    await stage.target.end_transaction(me.transactional_id, me.producer, commit=True)


def test_a_transform_that_ends_fences_its_tasks_and_says_that_nobody_may_append():
    assert ended() == ([False, True], {})


def test_an_end_takes_nothing_back_that_a_failover_has_claimed():
    claim = Claim("A->B", *HERE, (("x", 7),), 2, 0)
    cleans, unclean = ended([claim])
    assert (cleans, [*unclean]) == ([False], [HERE])


def test_a_driver_that_was_frozen_ends_nothing_of_another_one():
    async def run():
        stage = Stage()
        former = await stage.taken(1)
        await Placement(stage.flow, former).place([PLAN])
        latter = await stage.taken(2)
        await Placement(stage.flow, latter).place([PLAN])
        with pytest.raises((Fenced, ClusterRejected)):
            await former.end([HERE])
        await commit(stage, latter)
        return [e.clean for e in await stage.stored(anchors_topic("A")) if isinstance(e, Anchor)]

    assert asyncio.run(run()) == [False, False]


def test_every_task_has_a_producer_and_so_has_the_driver_and_all_are_registered():
    async def run():
        stage = Stage()
        producers = await stage.taken(1)
        return producers.identities, await stage.stored(PRODUCERS_TOPIC)

    identities, stored = asyncio.run(run())
    names = [each.transactional_id for each in stored if isinstance(each, ProducerEntry)]
    assert names == [f"isthmus.A->B.transform.0.{number}" for number in range(3)]
    assert [each.transactional_id for each in identities.values()] == names[:2]


def test_a_driver_with_fewer_slots_fences_those_of_the_former_one():
    async def run():
        stage = Stage()
        await stage.taken(1)
        fewer = await stage.taken(2)
        fewer.slots = 1
        stage.target.events.clear()
        await fewer.take()
        return [each[1] for each in stage.target.events if each[0] == "init"]

    assert sorted(asyncio.run(run())) == [f"isthmus.A->B.transform.0.{n}" for n in range(3)]
