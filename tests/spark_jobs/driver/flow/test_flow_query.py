"""When a query is idle, as its driver must know before it calls a flow paused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spark_jobs.driver.flow import flow_query as module
from spark_jobs.driver.flow.flow_query import FlowQuery
from spark_jobs.process.appdir import FlowDir


def a_query(tmp_path, *, active: bool, in_grace: int | None) -> FlowQuery:
    figures = {} if in_grace is None else {"figures": {"in_grace": in_grace}}
    spark = SimpleNamespace(
        isActive=True,
        status={"isTriggerActive": active},
        lastProgress={"batchId": 1, "observedMetrics": figures},
    )
    return FlowQuery(spark, FlowDir(tmp_path))


@pytest.mark.parametrize(
    ("active", "in_grace", "idle"),
    [
        pytest.param(True, 0, False, id="an epoch runs"),
        pytest.param(False, 0, True, id="all units have ended"),
        pytest.param(False, 1, False, id="a unit copies on"),
        pytest.param(False, None, True, id="no epoch yet"),
    ],
)
def test_a_query_is_idle_when_nothing_of_it_copies(tmp_path, active, in_grace, idle):
    assert a_query(tmp_path, active=active, in_grace=in_grace).idle() is idle


def test_a_unit_that_was_not_heard_of_again_has_ended_by_itself(tmp_path, monkeypatch):
    query = a_query(tmp_path, active=False, in_grace=1)
    assert not query.idle()
    monkeypatch.setattr(module, "GRACE_S", -1.0)
    assert query.idle()
