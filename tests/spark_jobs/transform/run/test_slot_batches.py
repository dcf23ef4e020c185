"""Batches whose job fails as a whole after some of its tasks have committed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pyspark.errors import PySparkException
from support.fakes.memory_network import MemoryCluster
from support.settings.configs import a_flow

from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterUnavailable
from replication.model import Mode, PartitionPlan, TopicPartition
from replication.settings.state_policies import Policies
from replication.settings.transform_settings import SettingText, TopicTransform
from replication.state import Anchor, Loss, anchors_topic
from spark_jobs.transform.batch_clock import JobTooSlow
from spark_jobs.transform.run.run_setting import TransformRunContext
from spark_jobs.transform.run.transform_run import TransformRun
from spark_jobs.transform.task.task_process import Connected, TaskProcess
from spark_jobs.transform.task.work import RangeReport, SlotReport, TaskClusters

DONE, LOST = (TopicPartition("orders", number) for number in range(2))
COPY = "A.orders"
ANCHORS = anchors_topic("A")


class Process(TaskProcess):
    """A process whose clusters are in memory."""

    def __init__(self, source: MemoryCluster, target: MemoryCluster) -> None:
        super().__init__()
        self._there = Connected(source, target, None)

    async def connected(self, clusters):
        return self._there


class DataError(PySparkException):
    """Spark's error about a record, after which it ends the job."""

    def __init__(self) -> None:
        super().__init__("Division by zero.", "DIVIDE_BY_ZERO")


OUTSIDE = PySparkException("org.apache.spark.api.python.PythonException: … OutsideLog")


class Stage:
    """A transform of two partitions in two slots, at 100 of 300; ``job`` is the stage itself.

    The first batch commits ``DONE`` up to 200, and then fails with ``failure``.
    """

    def __init__(self, failure: Exception, policies: Policies) -> None:
        self.source, self.target = MemoryCluster("a"), MemoryCluster("b")
        self.failure: Exception | None = failure
        self.begun: list[dict[TopicPartition, int]] = []  # where each batch began
        flow = a_flow()
        copying = replace(flow.copying, units=2)
        setting = TransformRunContext(
            flow.model_copy(update={"copying": copying, "policies": policies}),
            TaskClusters("A->B", "A", {}, {}),
            1,
            lambda _transform, _number: self,
            lambda _: {DONE: 300, LOST: 300},
            lambda: {COPY: 2},
        )
        transform = TopicTransform("orders", where=SettingText("true", "f:7: A->B.transform.where"))
        self.process = Process(self.source, self.target)
        self.transform_run = TransformRun(setting, 0, transform, _process=self.process)
        self.transform_run._plans = {
            each: PartitionPlan(each, TopicPartition(COPY, each.partition)) for each in (DONE, LOST)
        }
        before = [
            Anchor("A->B", *each, COPY, 100, 50, clean=True, mode=Mode.TRANSACTIONAL)
            for each in (DONE, LOST)
        ]
        asyncio.run(StateLog(self.target, ANCHORS).append(before))

    def check(self) -> None:
        pass

    def run(self, work):
        self.begun.append({e.source: e.anchor.source for slot in work for e in slot.ranges})
        reports = []
        for slot in work:
            failure = self.failure if any(e.source == LOST for e in slot.ranges) else None
            if failure is None:
                end = 200 if self.failure else 300
                anchors = [replace(each.anchor, source=end) for each in slot.ranges]
                self.process.run(self._commit(slot.producer, anchors))
                reports.append(SlotReport(tuple(RangeReport(each, 1, 1) for each in anchors)))
        if self.failure is not None:
            self.failure, failure = None, self.failure
            for each in (DONE, LOST):
                self.source.logs[each].start = self.source.logs[each].end = 150
            raise failure
        return reports

    async def _commit(self, producer, anchors) -> None:
        log, me = StateLog(self.target, ANCHORS), (producer.transactional_id, producer.producer)
        await self.target.add_to_transaction(*me, [log.partition])
        await log.append(anchors, producer)
        await self.target.end_transaction(*me, commit=True)

    def rounds(self, count: int) -> list[float]:
        return [self.transform_run._guarded_round() for _ in range(count)]

    def stored(self) -> tuple[list[Loss], list[list[int]]]:
        """Return the losses, and the positions of each partition in the order of the log."""
        found = asyncio.run(StateLog(self.target, ANCHORS).read_on())
        positions = [
            [e.source for e in found if isinstance(e, Anchor) and (e.topic, e.partition) == each]
            for each in (DONE, LOST)
        ]
        return [each for each in found if isinstance(each, Loss)], positions


@pytest.fixture
def stage_of():
    made = []

    def make(failure: Exception, **policies) -> Stage:
        made.append(Stage(failure, Policies(**policies)))
        return made[-1]

    yield make
    for each in made:
        each.process.close()


def test_what_one_slot_committed_is_kept_where_another_ones_records_are_gone(stage_of):
    """Retention has passed where both were before, which says nothing of where they are now."""
    stage = stage_of(OUTSIDE, lost_range="continue")
    stage.rounds(2)
    (loss,), positions = stage.stored()
    assert ((loss.topic, loss.partition), loss.first, loss.next) == (LOST, 100, 150)
    assert stage.begun == [{DONE: 100, LOST: 100}, {DONE: 200, LOST: 150}]
    assert positions == [[100, 100, 200, 200, 300], [100, 100, 100, 150, 300]]
    assert stage.transform_run.problem == ""


def test_only_the_partition_whose_records_are_gone_is_halted(stage_of):
    stage = stage_of(OUTSIDE, lost_range="stop")
    stage.rounds(2)
    assert set(stage.transform_run.halted) == {LOST}
    assert stage.begun[1:] == [{DONE: 200}]
    assert stage.stored()[0] == []


@pytest.mark.parametrize("failure", [DataError(), JobTooSlow("too slow")], ids=["data", "slow"])
def test_after_a_job_that_failed_each_partition_goes_on_where_it_was_committed(stage_of, failure):
    stage = stage_of(failure)
    stage.rounds(1)
    assert stage.transform_run._producers is None, "its tasks are fenced before the next batch"
    stage.rounds(4)
    assert stage.begun[1:] == [{DONE: 200}, {LOST: 100}]
    losses, (done, lost) = stage.stored()
    assert losses == []
    assert done == sorted(done)
    assert (done[-1], lost[-1]) == (300, 300)
    assert stage.transform_run.halted == {}


@pytest.mark.parametrize("failure", [None, JobTooSlow("too slow")], ids=["done", "in doubt"])
def test_a_run_that_is_stopped_ends_cleanly_where_its_tasks_have_committed(stage_of, failure):
    stage = stage_of(failure)
    stage.rounds(1)
    stage.transform_run.end()
    stored = asyncio.run(StateLog(stage.target, ANCHORS).read_on())
    found = [each for each in stored if isinstance(each, Anchor)]
    last = {(each.topic, each.partition): (each.source, each.clean) for each in found}
    done, lost = (200, 100) if failure else (300, 300)
    assert last == {DONE: (done, True), LOST: (lost, True)}


def test_while_a_record_is_looked_for_that_hangs_nothing_counts_as_transformed(stage_of):
    stage = stage_of(JobTooSlow("a batch took longer than 70 s"))
    stage.rounds(1)
    run = stage.transform_run
    assert (run.search, run.waiting, run.reasons) == (
        "a batch took longer than 70 s; looking for the record on which it hangs, the others wait",
        2,
        {},  # a batch run waits for it
    )
    stage.rounds(4)
    assert (run.search, run.waiting) == ("", 0)


def test_a_batch_that_waits_for_slots_of_spark_says_nothing_of_its_records(stage_of):
    stage = stage_of(ClusterUnavailable("Spark ran no task of a batch for 70 s"))
    for _ in range(20):
        stage.failure = ClusterUnavailable("Spark ran no task of a batch for 70 s")
        stage.rounds(1)
    run = stage.transform_run
    assert run.problem == "Spark ran no task of a batch for 70 s"
    assert (run._limits.poisons, run._limits.searching) == ({}, False)
