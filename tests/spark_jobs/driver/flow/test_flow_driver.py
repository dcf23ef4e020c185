"""When only a new driver helps a flow, and when a flow has ended."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.settings.configs import a_flow

from replication.model import Desired, FlowState
from spark_jobs.budget.disk_limit import DiskLimit
from spark_jobs.driver.flow.flow_driver import FlowDriver, FlowWork
from spark_jobs.driver.flow.flow_states import flow_state
from spark_jobs.transform.flow_transforms import FlowTransforms


@pytest.fixture
def flow() -> FlowDriver:
    """Return a flow that is copying."""
    topic_watcher = SimpleNamespace(
        missing_state_topic="",
        number=1,
        partitions=(),
        absent=(),
        **dict.fromkeys(("wrong_cluster", "problem", "gap", "state_at_risk", "remark"), ""),
    )
    lease = SimpleNamespace(
        clusters=SimpleNamespace(accepted=""),
        desired=Desired.RUN,
        is_desired_lost=False,
        missing_guarantees=frozenset(),
        probe_problem="",
        status=SimpleNamespace(state=FlowState.RUNNING),
    )
    work = FlowWork(None, FlowTransforms(a_flow(), None), SimpleNamespace(limit=DiskLimit()))
    return FlowDriver(a_flow(), lease, topic_watcher, None, work)


def test_bl_059_without_our_own_topics_only_a_new_driver_helps(flow):
    assert flow.restart_reason == ""
    flow._topic_watcher.missing_state_topic = "x"
    assert flow.restart_reason == "x was deleted on the target of A->B"


def test_bl_223_connections_to_a_former_cluster_end_with_the_driver(flow):
    flow.lease.clusters.accepted = "xyz"
    assert flow.restart_reason == "an operator accepted the cluster with id xyz for A->B"


def test_a_flow_is_not_stopped_while_a_batch_of_a_transform_may_still_commit(flow):
    asked = []
    run = SimpleNamespace(
        alive=True,
        problem="",
        search="",
        halted={},
        reasons={},
        waiting=0,
        stop=lambda: asked.append(True),
        stopping=True,
    )
    flow._transforms._runs[0] = run
    flow.lease.desired = Desired.STOP
    flow._transform(flow.situation())
    assert asked == [True]
    assert flow_state(flow.situation())[0] is FlowState.STOPPING
    run.alive = False
    assert flow_state(flow.situation())[0] is FlowState.STOPPED


def test_a_flow_ends_with_the_driver_and_says_why_that_starts_again(flow):
    assert not flow.done
    flow.end(restart="the file was edited: metrics.*")
    flow.end()  # as the driver's loop says each time
    assert flow.situation().ending
    assert flow.situation().restart == "the file was edited: metrics.*"
    assert not flow.done, "its status does not say so yet"
    flow.lease.status.state = flow_state(flow.situation())[0]
    assert flow.done
