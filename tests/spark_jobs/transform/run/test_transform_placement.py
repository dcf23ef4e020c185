"""Where a transform goes on behind records that retention deleted, and who may say so."""

from __future__ import annotations

import asyncio

import pytest
from support.fakes.memory_network import MemoryCluster
from support.settings.configs import a_flow

from replication.client.state_topic.state_log import StateLog
from replication.model import Choice, Mode, PartitionPlan, PartitionState, TopicPartition
from replication.settings.state_policies import CONTINUE, STOP, Policies
from replication.state import Anchor, Loss, anchors_topic
from spark_jobs.transform.run.transform_placement import Placement
from spark_jobs.transform.slot_producers import SlotProducers
from spark_jobs.transform.task.task_process import Connected
from spark_jobs.transform.task.work import TaskClusters

HERE, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
HALTED = Anchor(
    "A->B", *HERE, COPY.topic, 100, 50, clean=True, mode=Mode.TRANSACTIONAL,
    state=PartitionState.LOST_RANGE, reason="the source deleted offsets 100 to 119",
)  # fmt: skip


def placed(start: int, decision: Choice | None) -> tuple[Anchor, list[Loss]]:
    """Return the anchor of a partition that waits, and the losses that are told.

    Its source's log begins at ``start``.
    """

    async def run() -> tuple[Anchor, list[Loss]]:
        source, target = MemoryCluster("a"), MemoryCluster("b")
        source.logs[HERE].start, source.logs[HERE].end = start, 200
        log = StateLog(target, anchors_topic("A"))
        await log.append([HALTED])
        connected = Connected(source, target, None)
        producers = SlotProducers(TaskClusters("A->B", "A", {}, {}), connected, 1, 0, 1)
        await producers.take()
        flow = a_flow().model_copy(update={"policies": Policies(lost_range=STOP)})
        found = await Placement(flow, producers).place(
            [PartitionPlan(HERE, COPY, decision=decision)]
        )
        return found[HERE], [e for e in await log.read_on() if isinstance(e, Loss)]

    return asyncio.run(run())


def test_behind_a_lost_range_a_partition_goes_on_once_an_operator_says_so():
    anchor, (loss,) = placed(120, Choice(PartitionState.LOST_RANGE, 100, CONTINUE))
    assert (anchor.state, anchor.reason, anchor.source) == (PartitionState.RUNNING, "", 120)
    assert (loss.first, loss.next) == (100, 120)


@pytest.mark.parametrize(
    "decision", [None, Choice(PartitionState.LOST_RANGE, 90, CONTINUE)], ids=["none", "another"]
)
def test_without_an_answer_about_this_range_it_waits_on(decision):
    anchor, losses = placed(120, decision)
    assert (anchor.state, anchor.source, losses) == (PartitionState.LOST_RANGE, 100, [])
    assert "the source deleted offsets 100 to 119 before they were transformed" in anchor.reason


def test_what_can_be_read_again_is_transformed_without_a_loss():
    anchor, losses = placed(60, None)
    assert (anchor.state, anchor.reason, anchor.source, losses) == (
        PartitionState.RUNNING, "", 100, [],
    )  # fmt: skip
