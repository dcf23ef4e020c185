"""The job that backfills a flow: it shows the plan by default, and says what it copied."""

from __future__ import annotations

import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config

from orchestration.backfill.history import PartitionHistory
from orchestration.dagster.flow_jobs import backfill_job
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.flows.batch_run import CopiedRange, RunOutcome, RunProgress
from replication.model import TopicPartition

JOB = flow_jobs(["A->B"])["backfill"]
HERE = TopicPartition("orders", 0)
PLAN = (PartitionHistory(HERE, "A.orders", 5, 90),)


class Fake:
    """A backfill between no clusters; ``asked`` is what it was asked for."""

    asked: list = []  # noqa: RUF012 - of the one test that runs
    problem = ""

    def __init__(self, flow, config, home, budget):
        self.asked.append((flow.name, budget.units, budget.bytes_per_second))

    def plan(self, expected):
        self.asked.append((expected.topics.pattern, expected.begin))
        return PLAN

    def carry_out(self, plan, tell):
        assert plan is PLAN
        tell(RunProgress(40, 45, "RUNNING"))
        ranges = (CopiedRange(HERE, "A.orders-0", 5, 90, 85),)
        return RunOutcome("A-backfill->B", self.problem, 85, 2.0, ranges)


@pytest.fixture(autouse=True)
def _fake(monkeypatch):
    monkeypatch.setattr(backfill_job, "Backfill", Fake)
    monkeypatch.setattr(Fake, "asked", [])


def run(config=None):
    return JOB.execute_in_process(
        partition_key="A->B",
        resources={"isthmus": FakeIsthmus.of(World(a_config()))},
        run_config={"ops": {"copy_history": {"config": config or {}}}},
        raise_on_error=False,
    )


def observations(ended):
    return [
        each.asset_observation_data.asset_observation
        for each in ended.all_events
        if each.event_type_value == "ASSET_OBSERVATION"
    ]


def test_a_run_shows_the_plan_and_copies_nothing_unless_it_is_asked_to():
    ended = run()
    assert ended.success
    assert observations(ended) == []
    assert Fake.asked == [("A->B", 1, 0), (".*", "earliest")]


def test_a_run_copies_and_tells_the_ranges_on_the_stream():
    expected = {"action": "CARRY_OUT", "topics": "orders", "begin": "7", "bytes_per_second": 9}
    ended = run(expected)
    assert ended.success
    assert Fake.asked == [("A->B", 1, 9), ("orders", "7")]
    (reported,) = observations(ended)
    assert reported.asset_key.path[-2:] == ["A_to_B", "stream"]
    assert reported.metadata["offset ranges"].records[0].data["to offset"] == "90"


def test_a_run_that_did_not_copy_all_fails(monkeypatch):
    monkeypatch.setattr(Fake, "problem", "orders-0: LOST_RANGE")
    assert not run({"action": "CARRY_OUT"}).success


def test_a_wrong_beginning_is_named_before_anything_is_read():
    assert not run({"begin": "yesterday"}).success
    assert len(Fake.asked) == 1
