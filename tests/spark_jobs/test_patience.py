"""A driver whose target does not answer yet, or has lost what it kept."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from builders import a_flow
from structlog.testing import capture_logs

from replication.errors import ClusterRejected, ClusterUnavailable
from spark_jobs import driver
from spark_jobs.driver import Driver


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


def test_bl_059_a_driver_whose_own_topics_are_gone_ends_to_make_them_anew(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(driver, "_die", said.append)
    made = Driver.__new__(Driver)
    made._check_slots = made._keep_classes = lambda *_: None
    made._ending = False
    there, gone = (SimpleNamespace(tick=list, stateless=each, flow=a_flow()) for each in ("", "x"))
    made._flows = [there, gone]
    made._drive(SimpleNamespace(alive=True))
    assert said == ["x is gone from the target of A->B"]
