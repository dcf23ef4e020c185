"""When only a new driver helps a flow."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.settings.configs import a_flow

from spark_jobs.budget.disk_limit import DiskLimit
from spark_jobs.driver.flow.flow_driver import Beside, FlowDriver
from spark_jobs.transform.flow_transforms import FlowTransforms


@pytest.fixture
def flow() -> FlowDriver:
    """Return a flow that is copying."""
    topic_watcher = SimpleNamespace(missing_state_topic="")
    lease = SimpleNamespace(clusters=SimpleNamespace(accepted=""))
    beside = Beside(None, FlowTransforms(a_flow(), None), SimpleNamespace(limit=DiskLimit()))
    return FlowDriver(a_flow(), lease, topic_watcher, None, beside)


def test_bl_059_without_our_own_topics_only_a_new_driver_helps(flow):
    assert flow.restart_reason == ""
    flow._topic_watcher.missing_state_topic = "x"
    assert flow.restart_reason == "x was deleted on the target of A->B"


def test_bl_223_connections_to_a_former_cluster_end_with_the_driver(flow):
    flow.lease.clusters.accepted = "xyz"
    assert flow.restart_reason == "an operator accepted the cluster with id xyz for A->B"
