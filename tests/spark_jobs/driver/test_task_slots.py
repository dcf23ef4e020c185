"""Which flows wait for task slots of Spark, where there are not enough for all."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.settings.config_files import loaded

from spark_jobs.driver import task_slots
from spark_jobs.driver.task_slots import TaskSlots

FILE = """\
clusters = A, B, C
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
C.bootstrap.servers = c:1
A->B.enabled = true
C->B.enabled = true
A->B.tasks.max = 2
C->B.tasks.max = 3
"""


class Cycle:
    """The queries of a flow, as far as slots are about them."""

    def __init__(self, query: object = None) -> None:
        self.query, self.reason = query, None

    def lack_slots(self, reason: str) -> None:
        self.reason = reason


@pytest.fixture
def spark(monkeypatch):
    """Return a session; ``free`` and ``stopped`` say what it answers."""
    made = SimpleNamespace(free=0, stopped=False)
    monkeypatch.setattr(task_slots, "slots", lambda session: session.free)
    monkeypatch.setattr(task_slots, "is_stopped", lambda session: session.stopped)
    return made


def of_flows(tmp_path, one: Cycle, two: Cycle) -> TaskSlots:
    config = loaded(tmp_path, FILE).config
    flows = [
        SimpleNamespace(cycle=cycle, flow=config.flow(name))
        for name, cycle in (("A->B", one), ("C->B", two))
    ]
    return TaskSlots(flows, lambda: config)


def test_a_flow_waits_whose_units_would_find_too_few_slots(tmp_path, spark):
    one, two, spark.free = Cycle(), Cycle(), 4
    assert of_flows(tmp_path, one, two).look(spark)
    assert one.reason == ""
    assert two.reason.startswith("Spark at local[*] has 2 free slots, this flow's units need 3")


def test_slots_of_flows_that_copy_are_not_free(tmp_path, spark):
    one, two, spark.free = Cycle("a query"), Cycle(), 4
    found = of_flows(tmp_path, one, two)
    assert found.look(spark)
    assert one.reason is None
    assert two.reason.startswith("Spark at local[*] has 2 free slots, this flow's units need 3")
    assert found.suffice(spark)
    spark.free = 1
    assert not found.suffice(spark)


def test_that_spark_has_stopped_is_seen_by_a_flow_that_waits(tmp_path, spark):
    spark.stopped = True
    assert of_flows(tmp_path, Cycle("a query"), Cycle("another")).look(spark)
    assert not of_flows(tmp_path, Cycle("a query"), Cycle()).look(spark)
