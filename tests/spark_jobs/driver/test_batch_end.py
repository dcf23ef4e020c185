"""When the driver of a batch flow ends, and what it writes about its run."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from types import SimpleNamespace

import pytest

from replication.adapters.topics.anchor_reader import CopyState
from replication.errors import ClusterUnavailable
from replication.model import Desired, PartitionPlan, PartitionState, TopicPartition
from replication.state import AbsentTopic, Anchor, FlowStatus
from spark_jobs.driver import batch_end
from spark_jobs.driver.batch_end import BatchEnd

HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 1)
GENERATION = 3


class Now(Executor):
    """Does at once what it is given."""

    def submit(self, work, /, *given):
        done = Future()
        try:
            done.set_result(work(*given))
        except ClusterUnavailable as error:
            done.set_exception(error)
        return done


class Run:
    """A run whose clusters, driver and clock are values."""

    def __init__(self, monkeypatch):
        self.now_s, self.anchors, self.ends = 1000.0, {}, {}
        self.silent, self.written, self.hastened = False, [], 0
        monkeypatch.setattr(batch_end.time, "monotonic", lambda: self.now_s)
        self.plan = SimpleNamespace(
            number=0, partitions=(), absent=(), wrong_cluster="", problem=""
        )
        self.lease = SimpleNamespace(
            desired=Desired.RUN,
            status=FlowStatus("A->B", generation=GENERATION, started_ms=5),
            write_run=self.written.append,
        )
        self.tasks = SimpleNamespace(hasten=self.hasten, has_run_again=True)
        driver = SimpleNamespace(
            flow=SimpleNamespace(name="A->B", source="A"),
            plan=self.plan,
            lease=self.lease,
            tasks=self.tasks,
            transformed={},
        )
        self.end = BatchEnd(driver, lambda: self, self, Now())

    def hasten(self):
        self.hastened += 1

    def end_offsets(self, partitions):
        if self.silent:
            raise ClusterUnavailable("A is down")
        return {each: self.ends[each] for each in partitions if each in self.ends}

    def look(self):
        return CopyState(dict(self.anchors))

    def plans(self, *partitions):
        self.plan.number += 1
        self.plan.partitions = [PartitionPlan(each, each) for each in partitions]

    def copied(self, where, source):
        self.anchors[where] = Anchor(
            "A->B", *where, "A.orders", source, source, generation=GENERATION, state="RUNNING",
            records=source,
        )  # fmt: skip

    def after(self, seconds):
        """Let time pass, a look a second; return whether the run is over."""
        over = False
        for _ in range(2 * seconds):
            self.now_s += 0.5
            over = self.end.look()
        return over


@pytest.fixture
def run(monkeypatch):
    return Run(monkeypatch)


def test_a_run_ends_when_all_that_was_there_at_its_start_is_copied(run):
    run.ends = {HERE: 7}
    run.plans(HERE)
    assert not run.after(20)
    run.ends = {HERE: 50}  # what comes later is not waited for
    run.copied(HERE, 6)
    assert not run.after(5)
    run.copied(HERE, 7)
    assert run.after(5)
    run.end.record()
    (written,) = run.written
    assert (written.flow, written.generation, written.started_ms) == ("A->B", GENERATION, 5)
    assert (written.records, written.problem) == (7, "")


def test_it_does_not_end_before_it_knows_what_to_copy(run):
    assert not run.after(60)
    run.end.record()
    assert run.written[0].problem == "it ended before it knew what to copy"


def test_a_plan_that_still_changes_is_waited_for(run):
    """A topic that the target has only just created may be absent from the first plan."""
    run.ends = {HERE: 0, THERE: 4}
    run.plans(HERE)
    assert not run.after(3)
    run.plans(HERE, THERE)
    assert not run.after(30)
    run.copied(THERE, 4)
    assert run.after(5)


def test_a_source_that_does_not_answer_is_asked_again(run):
    run.plans(HERE)
    run.silent = True
    run.copied(HERE, 9)
    assert not run.after(30)
    run.silent, run.ends = False, {HERE: 9}
    assert run.after(5)


def test_a_partition_without_a_leader_is_waited_for(run):
    run.plans(HERE, THERE)
    run.ends = {HERE: 0}
    assert not run.after(30)
    run.end.record()
    assert "A returns no end offset of orders-1: it has no leader" in run.written[0].problem


NOT_READ = "the end offset of orders-0 on A was not read before the run ended: run the flow again"


def test_a_source_that_does_not_answer_is_not_said_to_have_no_leader(run):
    run.plans(HERE)
    run.silent = True
    run.after(5)
    run.end.record()
    assert run.written[0].problem == NOT_READ


def test_nor_is_one_that_answers_no_more_or_was_not_asked(run):
    run.plans(HERE)
    run.after(5)  # it has no leader
    run.silent = True
    run.after(5)
    run.end.record()
    assert run.written[0].problem == NOT_READ
    run.silent = False
    run.after(5)
    run.plans(HERE, THERE)  # and the driver is ended at once
    run.ends = {HERE: 0}
    run.end.record()
    assert "A returns no end offset of orders-0: it has no leader" in run.written[1].problem
    assert run.after(2) is False
    run.plans(TopicPartition("later", 0), HERE)
    run.end.record()
    assert run.written[2].problem == NOT_READ.replace("orders", "later")


def test_the_background_tasks_run_once_more_when_all_is_copied(run):
    run.plans(HERE)
    run.ends = {HERE: 0}
    run.tasks.has_run_again = False
    assert not run.after(20)
    assert run.hastened == 1
    run.tasks.has_run_again = True
    assert run.after(1)


def test_background_tasks_that_do_not_end_do_not_keep_a_run_for_ever(run):
    run.plans(HERE)
    run.ends = {HERE: 0}
    run.tasks.has_run_again = False
    assert run.after(60)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("desired", "an operator set its desired state to pause"),
        ("wrong_cluster", "A leads to another cluster"),
    ],
)
def test_a_run_that_may_not_copy_ends(run, change, problem):
    run.plans(HERE)
    run.ends = {HERE: 7}
    assert not run.after(3)
    if change == "desired":
        run.lease.desired = Desired.PAUSE
    else:
        run.plan.wrong_cluster = problem
    assert run.after(1)
    run.end.record()
    assert run.written[0].problem == f"orders-0 not copied to the end; {problem}"


def test_a_topic_that_cannot_be_copied_is_told(run):
    run.plans(HERE)
    run.ends = {HERE: 0}
    run.plan.problem = "orders.old: its name on the target is taken"
    assert run.after(20)
    run.end.record()
    assert run.written[0].problem == run.plan.problem


def test_a_partition_that_ends_at_an_offset_is_copied_when_it_is_there(run):
    run.ends = {HERE: 90}
    run.plans(HERE)
    run.plan.partitions = [PartitionPlan(HERE, HERE, until=40)]
    run.copied(HERE, 39)
    assert not run.after(20)
    run.copied(HERE, 40)
    assert run.after(5)


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (PartitionState.SOURCE_DELETED, "orders-0: SOURCE_DELETED, why"),
        (PartitionState.SOURCE_DENIED, "orders-0: SOURCE_DENIED, why"),
        (PartitionState.NOT_SELECTED, ""),  # somebody wanted it so
    ],
)
def test_a_topic_that_goes_meanwhile_is_not_waited_for(run, state, problem):
    other = TopicPartition("others", 0)
    run.ends = {HERE: 9, other: 9}
    run.plans(HERE, other)
    run.copied(HERE, 5)
    run.copied(other, 8)
    assert not run.after(20)
    run.plans(other)
    run.plan.absent = (AbsentTopic("A->B", HERE.topic, state, "why"),)
    assert not run.after(20)
    run.copied(other, 9)
    assert run.after(5)
    run.end.record()
    assert run.written[0].problem == problem


def test_a_topic_that_was_copied_before_it_was_deleted_is_no_problem(run):
    run.ends = {HERE: 9}
    run.plans(HERE)
    run.copied(HERE, 5)
    assert not run.after(3)
    run.plans()
    run.plan.absent = (AbsentTopic("A->B", HERE.topic, PartitionState.SOURCE_DELETED, "why"),)
    run.copied(HERE, 9)
    assert run.after(10)
    run.end.record()
    assert run.written[0].problem == ""


def test_a_topic_that_was_created_again_meanwhile_has_another_end(run):
    run.ends = {HERE: 9}
    run.plans(HERE)
    assert not run.after(3)
    run.plans()
    run.plan.absent = (AbsentTopic("A->B", HERE.topic, PartitionState.SOURCE_DELETED, "why"),)
    assert not run.after(3)
    run.ends, run.plan.absent = {HERE: 2}, ()
    run.plans(HERE)
    assert not run.after(20)
    run.copied(HERE, 2)
    assert run.after(5)
