"""A run of a batch flow, as command and Dagster carry it out."""

from __future__ import annotations

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config, a_flow

from orchestration.flows import batch_run
from orchestration.flows.batch_run import BatchRunner
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken
from replication.model import TopicPartition
from replication.state import BatchRun, Intent
from replication.supervision.driver_supervision import applications

HERE = TopicPartition("orders", 0)
STATUS = "isthmus-status.A.internal"


class Batch:
    """A run over a world in memory; before each wait one of ``events`` happens."""

    def __init__(self, world, *events):
        self.world, self.events, self.reported, self.now_s = world, list(events), [], 0.0
        (app,) = applications(world.config)
        self.app = app.name
        self.runner = BatchRunner(
            world.config.flows[0],
            app,
            world,
            world,
            self.reported.append,
            self.wait,
            lambda: self.now_s,
        )

    def wait(self, seconds):
        self.now_s += seconds
        if self.events:
            self.events.pop(0)()

    def run(self, after_s=None):
        start = self.world.start

        def started(app):
            self.world.watched.add(app.name)
            return start(app)

        self.world.start = started
        return self.runner.run() if after_s is None else self.runner.run_after_others(after_s)

    def ends(self, problem=""):
        """Let the driver end, with its result."""
        self.world.copy(records=9, end=9, state="STOPPED")
        self.world.target.write(STATUS, BatchRun("A->B", 2, 1, 2, 4, problem))
        self.world.watched.clear()


@pytest.fixture
def world():
    found = World(a_config(a_flow().model_copy(update={"mode": "batch"})))
    found.copy(records=5, end=5, state="STOPPED")
    found.target.write(STATUS, BatchRun("A->B", 1, 1, 2, 5))
    return found


def test_a_run_starts_the_driver_and_says_what_it_copied(world):
    work = Batch(world)
    work.events = [lambda: world.copy(records=7, end=9), work.ends]
    found = work.run()
    assert world.started == [work.app]
    assert [(each.records, each.left) for each in work.reported] == [(2, 2), (4, 0)]
    (copied,) = found.ranges
    assert (copied.partition, copied.begin, copied.end, copied.records) == (HERE, 5, 9, 4)
    assert copied.target == "A.orders-0"
    assert found.sentence == "A->B: copied 4 records of 1 partitions in 2 s"


def test_what_the_driver_could_not_copy_is_the_problem_of_the_run(world):
    work = Batch(world)
    work.events = [lambda: work.ends("orders-1: LOST_RANGE")]
    assert work.run().sentence.endswith("; not all: orders-1: LOST_RANGE")


def test_a_driver_that_ends_without_a_result_is_no_success(world):
    work = Batch(world, world.watched.clear)
    found = work.run()
    assert found.problem == "its driver ended without a result; see /nowhere/apps/A->B/driver.log"
    assert found.ranges == ()


def test_a_run_in_which_nothing_moves_is_stopped(world):
    work = Batch(world)
    found = work.run()
    assert world.stopped == [work.app]
    assert work.now_s == pytest.approx(batch_run.PATIENCE_S, abs=5)
    assert found.problem.startswith("nothing moved for 600 s: ")


def test_an_interrupted_run_stops_its_driver(world):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Batch(world, interrupt).run()
    assert world.stopped == ["A->B"]


def test_a_flow_that_is_paused_is_not_run(world):
    world.target.write(STATUS, Intent("A->B", "pause", "me", 1))
    with pytest.raises(
        ClusterRejected, match="A->B has the desired state pause, set by me: resume it"
    ):
        Batch(world).run()
    assert world.started == []


def test_a_second_run_at_the_same_time_is_refused(world):
    world.watched.add("A->B")
    with pytest.raises(FlowTaken, match="a run of A->B is under way"):
        Batch(world).run()


def test_a_run_that_has_to_have_all_begins_after_one_that_is_under_way(world):
    world.watched.add("A->B")
    work = Batch(world, lambda: None)
    work.events += [world.watched.clear, work.ends]
    assert work.run(after_s=60).records == 4
    assert (world.started, work.now_s) == (["A->B"], 3)
    world.watched.add("A->B")
    with pytest.raises(FlowTaken, match="a run of A->B is under way"):
        work.run(after_s=5)


def test_one_that_does_not_get_all_is_refused(world):
    work = Batch(world)
    work.events = [lambda: work.ends("orders-1: LOST_RANGE")]
    with pytest.raises(ClusterRejected, match="not all: orders-1: LOST_RANGE"):
        work.run(after_s=60)


def test_a_target_that_does_not_answer_is_said(world):
    world.target.silent = True
    with pytest.raises(ClusterUnavailable, match="target cluster B did not answer"):
        Batch(world).run()
