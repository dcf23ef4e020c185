"""A driver whose target does not answer yet, or one of whose flows is hopeless."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from replication.errors import ClusterRejected, ClusterUnavailable, EnvironmentProblem
from spark_jobs.driver import driver_loop, start_leases
from spark_jobs.driver.driver_loop import Driver
from spark_jobs.driver.start_leases import reasons_in_status, retry_while_unavailable
from spark_jobs.process.spark_session import block_directories


def test_bl_106_a_target_that_is_down_at_the_start_is_waited_for_and_reported_once(monkeypatch):
    monkeypatch.setattr(start_leases, "_RETRY_S", 0.001)
    answers = [ClusterUnavailable("B: connection refused")] * 3
    answers += [ClusterUnavailable("B: no response in time"), None]

    def ask() -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    with capture_logs() as logs:
        retry_while_unavailable(ask)
    assert [each["reason"] for each in logs] == ["B: connection refused", "B: no response in time"]
    assert not answers


def test_a_target_that_refuses_is_not_waited_for():
    def ask() -> None:
        raise ClusterRejected("B: authentication failed")

    with pytest.raises(ClusterRejected):
        retry_while_unavailable(ask)


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
        cycle=SimpleNamespace(stalls=lambda **_: stalls),
        flow=SimpleNamespace(name="A->B"),
    )


def test_bl_232_why_spark_does_not_start_is_in_the_status_of_each_flow():
    output = []
    lease = SimpleNamespace(beat=lambda **status: output.append(status), close=lambda: None)
    with pytest.raises(EnvironmentProblem), reasons_in_status([lease] * 2):
        raise EnvironmentProblem("starting Java for Spark: it exited")
    assert output == [{"state": "FAILED", "reason": "starting Java for Spark: it exited"}] * 2
