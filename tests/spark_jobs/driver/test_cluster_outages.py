"""A driver whose target does not answer yet, or has lost Isthmus' topics; stalled epochs."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs
from support.settings.configs import a_flow

from replication.errors import ClusterRejected, ClusterUnavailable, EnvironmentProblem
from spark_jobs.budget.disk_limit import DiskLimit
from spark_jobs.driver import driver_loop
from spark_jobs.driver import flow_driver as flow_module
from spark_jobs.driver.driver_loop import Driver
from spark_jobs.driver.flow_driver import Beside, FlowDriver
from spark_jobs.process.spark_session import block_directories
from spark_jobs.transform.flow_transforms import FlowTransforms


@pytest.fixture
def waiting(monkeypatch) -> Driver:
    monkeypatch.setattr(driver_loop, "_RETRY_S", 0.001)
    return Driver.__new__(Driver)


def test_bl_106_a_target_that_is_down_at_the_start_is_waited_for_and_reported_once(waiting):
    answers = [ClusterUnavailable("B: connection refused")] * 3
    answers += [ClusterUnavailable("B: no response in time"), None]

    def ask() -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    with capture_logs() as logs:
        waiting._retry_while_unavailable(ask)
    assert [each["reason"] for each in logs] == ["B: connection refused", "B: no response in time"]
    assert not answers


def test_a_target_that_refuses_is_not_waited_for(waiting):
    def ask() -> None:
        raise ClusterRejected("B: authentication failed")

    with pytest.raises(ClusterRejected):
        waiting._retry_while_unavailable(ask)


@pytest.fixture
def driving(monkeypatch) -> Driver:
    """Return a driver that drives nothing; the reasons of its exits are in ``exits``."""
    made = Driver.__new__(Driver)
    made._check_slots = made._dump_classes = lambda *_: None
    made._ending, made._flows, made._blocks, made._exposition = False, [], (), None
    made._parts = SimpleNamespace(follow_load=lambda _: None)
    made.exits = []
    monkeypatch.setattr(driver_loop, "_die", made.exits.append)
    return made


def test_bl_125_a_driver_whose_spark_has_lost_its_files_ends_to_be_started_again(driving, tmp_path):
    conf = {"spark.local.dir": str(tmp_path)}
    (tmp_path / "blockmgr-1").mkdir()
    driving._blocks = block_directories(conf)
    driving._drive(SimpleNamespace(alive=True), list)
    assert driving.exits == []
    shutil.rmtree(tmp_path)
    driving._drive(SimpleNamespace(alive=True), list)
    assert driving.exits == [f"Spark's files were deleted in {tmp_path}"]


# Of an epoch in which nothing happened.
FIGURES = {
    "not_running": 0, "outcome": None, "takeovers": 0, "cpu_s": 0.1, "at_least_once": 0,
    "source_throttled_ms": 0, "target_throttled_ms": 0, "backed_off_to": 0, "cores": 0.1,
    "busiest_core": 0.1,
}  # fmt: skip


class AnEpoch:
    """A query that runs the same epoch for ever."""

    running: tuple[int, int] | None = (3, 1)

    def alive(self) -> bool:
        return True

    def epoch(self) -> tuple[int, int] | None:
        return self.running

    told: dict | None = None  # the figures of the epoch before

    def figures(self) -> dict | None:
        return self.told


@pytest.fixture
def flow(monkeypatch) -> FlowDriver:
    """Return a flow that is copying, on a clock that stands still: ``flow.clock``."""
    topic_watcher = SimpleNamespace(missing_state_topic="", partitions=("some",), number=1)
    topic_watcher.copied = topic_watcher.partitions
    topic_watcher.space_problem = str
    lease = SimpleNamespace(clusters=SimpleNamespace(accepted=""))
    beside = Beside(None, FlowTransforms(a_flow(), None), SimpleNamespace(limit=DiskLimit()))
    made = FlowDriver(a_flow(), lease, topic_watcher, None, beside)
    made.query, made.clock = AnEpoch(), [1000.0]
    monkeypatch.setattr(flow_module.time, "monotonic", lambda: made.clock[0])
    made._watch()
    return made


def test_bl_059_without_our_own_topics_only_a_new_driver_helps(flow):
    assert flow.restart_reason == ""
    flow._topic_watcher.missing_state_topic = "x"
    assert flow.restart_reason == "x was deleted on the target of A->B"


def test_bl_223_connections_to_a_former_cluster_end_with_the_driver(flow):
    flow.lease.clusters.accepted = "xyz"
    assert flow.restart_reason == "an operator accepted the cluster with id xyz for A->B"


def pass_time(flow, seconds: int) -> None:
    for _ in range(seconds):
        flow.clock[0] += 1
        flow._watch()


def stalls(flow) -> bool:
    return flow.stalls(has_slots=lambda: True)


def test_bl_122_an_epoch_that_does_not_end_shows_that_a_process_hangs(flow):
    for _ in range(4):
        pass_time(flow, 100)
        flow.query.running = (flow.query.running[0] + 1, 1)
        flow._watch()
        assert not stalls(flow)
    pass_time(flow, 150)  # two epochs, as of a task that is tried again, and a takeover
    assert not stalls(flow)
    pass_time(flow, 1)
    assert stalls(flow)


def test_who_was_frozen_for_an_hour_has_not_waited_for_an_hour(flow):
    flow.clock[0] += 3600
    flow._watch()
    assert not stalls(flow)


def test_without_slots_an_epoch_only_waits(flow):
    pass_time(flow, 151)
    assert not flow.stalls(has_slots=lambda: False)
    assert flow.slot_shortage.startswith("its units wait: Spark has fewer slots")
    assert not stalls(flow), "its time limit starts again"
    pass_time(flow, 152)
    assert stalls(flow)


def test_units_that_have_slots_again_end_the_shortage(flow):
    pass_time(flow, 151)
    flow.stalls(has_slots=lambda: False)
    flow.query.figures = lambda: {**FIGURES, "units": 0}
    flow._watch()
    assert flow.slot_shortage == ""


def test_an_epoch_is_given_its_time_from_the_start_of_its_query_on(flow):
    flow.lease = SimpleNamespace(status=SimpleNamespace(generation=1), ended=0)
    flow._topic_watcher.write = lambda **_: None
    flow._starter = lambda *_: AnEpoch()
    pass_time(flow, 151)
    flow._start()
    assert not stalls(flow)
    flow.query.running = None
    pass_time(flow, 151)
    assert stalls(flow), "no epoch ever began"


def test_no_epoch_is_expected_while_there_is_nothing_to_copy(flow):
    flow._topic_watcher.partitions = flow._topic_watcher.copied = ()
    pass_time(flow, 200)
    assert not stalls(flow)
    flow._topic_watcher.partitions = ("some",)
    flow._watch()
    assert not stalls(flow)


def test_a_driver_ends_when_one_of_its_flows_is_hopeless(driving):
    driving._flows = [a_driven_flow(), a_driven_flow(restart_reason="x is gone")]
    driving._drive(SimpleNamespace(alive=True), list)
    assert driving.exits == ["x is gone"]


def test_a_driver_ends_when_one_of_its_flows_stalls_and_beats_for_each(driving):
    driving._flows = [a_driven_flow(), a_driven_flow(stalls=True)]
    beats = []
    driving._drive(SimpleNamespace(alive=True), lambda: beats.append(1))
    assert driving.exits == ["an epoch of A->B does not end: a Spark worker process hangs"]
    assert len(beats) == 2


def a_driven_flow(restart_reason="", *, stalls=False):
    return SimpleNamespace(
        tick=list,
        restart_reason=restart_reason,
        stalls=lambda **_: stalls,
        flow=SimpleNamespace(name="A->B"),
    )


def test_bl_232_why_spark_does_not_start_is_in_the_status_of_each_flow(driving):
    said = []
    lease = SimpleNamespace(beat=lambda **status: said.append(status), close=lambda: None)
    driving._flows = [SimpleNamespace(lease=lease)] * 2

    with pytest.raises(EnvironmentProblem), driving._reasons_in_status():
        raise EnvironmentProblem("starting Java for Spark: it exited")
    assert said == [{"state": "FAILED", "reason": "starting Java for Spark: it exited"}] * 2


def test_a_flow_that_is_throttled_says_by_whom_and_no_more_when_it_is_not(flow):
    lease = SimpleNamespace(missing_guarantees="", probe_problem="", clusters=flow.lease.clusters)
    flow.lease, flow._mode_notice = lease, lambda *_, **__: ""
    flow._topic_watcher.remark, flow._topic_watcher.absent = "", ()
    flow.query.told = FIGURES | {"target_throttled_ms": 9_000, "backed_off_to": 100_000}
    flow._watch()
    assert flow._notice().startswith("B throttled it for 9.0 s in the last epoch")
    flow.query.told = FIGURES
    flow._watch()
    assert flow._notice() == ""
    flow._disks.limit = DiskLimit(70_000, "the disk of B's broker 1 fills")
    assert flow._notice() == "the disk of B's broker 1 fills"
    assert flow._tally.target_throttle_s == 9.0
