"""A driver whose target does not answer yet, or has lost what it kept."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest
from builders import a_flow
from structlog.testing import capture_logs

from replication.errors import ClusterRejected, ClusterUnavailable
from spark_jobs import driver
from spark_jobs.driver import Driver
from spark_jobs.session import block_places


@pytest.fixture
def waiting(monkeypatch) -> Driver:
    monkeypatch.setattr(driver, "_RETRY_S", 0.001)
    return Driver.__new__(Driver)


def test_bl_106_a_target_that_is_down_at_the_start_is_waited_for_and_said_once(waiting):
    answers = [ClusterUnavailable("B: connection refused")] * 3
    answers += [ClusterUnavailable("B: no answer in time"), None]

    def ask() -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    with capture_logs() as logs:
        waiting._patiently(ask)
    assert [each["reason"] for each in logs] == ["B: connection refused", "B: no answer in time"]
    assert not answers


def test_a_target_that_refuses_is_not_waited_for(waiting):
    def ask() -> None:
        raise ClusterRejected("B: authentication failed")

    with pytest.raises(ClusterRejected):
        waiting._patiently(ask)


@pytest.fixture
def driving(monkeypatch) -> Driver:
    """Return a driver that drives nothing; what it dies of is appended to ``said``."""
    made = Driver.__new__(Driver)
    made._check_slots = made._keep_classes = lambda *_: None
    made._ending, made._flows, made._blocks = False, [], ()
    made.said = []
    monkeypatch.setattr(driver, "_die", made.said.append)
    return made


def test_bl_125_a_driver_whose_spark_has_lost_its_files_ends_to_be_started_again(driving, tmp_path):
    conf = {"spark.local.dir": str(tmp_path)}
    (tmp_path / "blockmgr-1").mkdir()
    driving._blocks = block_places(conf)
    driving._drive(SimpleNamespace(alive=True))
    assert driving.said == []
    shutil.rmtree(tmp_path)
    driving._drive(SimpleNamespace(alive=True))
    assert driving.said == [f"somebody has deleted Spark's files in {tmp_path}"]


def test_bl_059_a_driver_whose_own_topics_are_gone_ends_to_make_them_anew(driving):
    there, gone = (SimpleNamespace(tick=list, stateless=each, flow=a_flow()) for each in ("", "x"))
    driving._flows = [there, gone]
    driving._drive(SimpleNamespace(alive=True))
    assert driving.said == ["x is gone from the target of A->B"]
