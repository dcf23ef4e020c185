"""The job that runs a batch flow: its stream is materialized with the ranges that it copied."""

from __future__ import annotations

import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config, a_flow

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.flows import batch_run
from replication.state import BatchRun, Intent

JOB = flow_jobs(["A->B"], ["A->B"])["batch"]
STATUS = "isthmus-status.A.internal"


@pytest.fixture
def world(monkeypatch):
    found = World(a_config(a_flow().model_copy(update={"mode": "batch"})))
    found.copy(records=5, end=5, state="STOPPED")
    monkeypatch.setattr(batch_run, "POLL_S", 0.0)
    return found


def driver_that_copies(world, problem=""):
    """Let the driver copy when it is started, and end with a result."""

    def start(app):
        world.started.append(app.name)
        world.copy(records=9, end=9, state="STOPPED")
        world.target.write(STATUS, BatchRun("A->B", 1, 1, 2, 4, problem))
        return world

    world.start = start


def run(world):
    return JOB.execute_in_process(
        partition_key="A->B", resources={"isthmus": FakeIsthmus.of(world)}, raise_on_error=False
    )


def materializations(ended):
    return [
        each.step_materialization_data.materialization
        for each in ended.all_events
        if each.event_type_value == "ASSET_MATERIALIZATION"
    ]


def test_a_run_materializes_the_stream_with_its_offset_ranges(world):
    driver_that_copies(world)
    ended = run(world)
    assert ended.success
    (reported,) = materializations(ended)
    assert reported.asset_key == stream_key("A->B")
    assert (reported.metadata["records"].value, reported.metadata["partitions"].value) == (4, 1)
    (row,) = reported.metadata["offset ranges"].records
    assert dict(row.data) == {
        "partition": "orders-0",
        "from offset": "5",
        "to offset": "9",
        "records": "4",
        "on target": "A.orders-0",
    }


def test_a_run_that_did_not_copy_all_fails_and_says_what_it_copied(world):
    driver_that_copies(world, "orders-1: LOST_RANGE")
    ended = run(world)
    assert not ended.success
    (reported,) = materializations(ended)
    assert reported.metadata["problem"].value == "orders-1: LOST_RANGE"


def test_a_flow_that_somebody_paused_is_left_alone(world):
    world.target.write(STATUS, Intent("A->B", "pause", "me", 1))
    ended = run(world)
    assert ended.success
    assert (materializations(ended), world.started) == ([], [])
