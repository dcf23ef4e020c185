"""What one look at a flow finds: of topics that are not copied any more, of its driver."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config, a_flow

from orchestration.flows.observation.flow_reader import look_at, look_here
from replication.clock import now_ms
from replication.model import ABSENT, Desired, PartitionState
from replication.state import (
    AbsentTopic,
    Anchor,
    ClusterIds,
    FlowStatus,
    Intent,
    Operation,
    anchors_topic,
    status_topic,
)
from replication.supervision.driver_supervision import applications


@pytest.mark.parametrize("state", sorted(ABSENT))
def test_a_topic_that_may_not_be_described_hides_the_ends_of_no_other(state):
    world = World(a_config())
    world.copy(records=100, end=107)
    users = Anchor("A->B", "users", 0, "A.users", 5, 5, state=PartitionState.RUNNING)
    world.target.write(anchors_topic("A"), users)
    world.target.write(status_topic("A"), AbsentTopic("A->B", "users", state, "hidden", 7))
    world.origin.denied = {"users"}
    look = look_at(world.config.flows[0], world)
    assert look.seen.source_silence is None
    assert look.lag().records == 7
    assert {each.topic: each.state for each in look.seen.anchors}["users"] == state


@pytest.mark.parametrize(("ended", "state"), [(False, "RUNNING"), (True, "DEAD")])
def test_a_driver_of_another_state_directory_of_this_host_is_known_by_its_process(ended, state):
    driver = subprocess.Popen([sys.executable, "-c", "pass"])
    driver.wait()
    pid = driver.pid if ended else os.getpid()
    now = now_ms()
    status = FlowStatus(
        "A->B", "RUNNING", host=socket.gethostname(), pid=pid, beat_ms=now, started_ms=now - 90_000,
        partitions=1,
    )  # fmt: skip
    world = World(a_config())
    world.copy(records=100, end=100)
    world.target.write(status_topic("A"), status)
    assert look_at(world.config.flows[0], world).health.state == state


def test_bl_223_a_source_that_is_another_cluster_is_a_state_and_its_ends_are_not_used():
    world = World(a_config())
    world.copy(records=100, end=107)
    world.target.write(status_topic("A"), ClusterIds("A->B", "id-a", "id-b"))
    flow = world.config.flows[0]
    assert look_at(flow, world).health.state == "RUNNING"
    world.origin.id = "id-b"
    look = look_at(flow, world)
    assert (look.health.state, look.health.healthy) == ("WRONG_CLUSTER", False)
    assert look.health.reason.startswith("source A is now the cluster with id id-b, which is B")
    assert look.lag().seconds is None


def test_bl_223_a_target_that_is_another_cluster_is_known_from_the_state_directory():
    world = World(a_config())
    world.copy(records=100, end=107)
    world.local["A->B"] = ClusterIds("A->B", "id-a", "id-b")
    world.target.id = "other"
    app = applications(world.config)[0]
    look = look_here(world.config.flows[0], app, world, world)
    assert look.health.state == "WRONG_CLUSTER"
    assert look.health.reason.startswith("target B is now the cluster with id other")
    assert (look.seen.status, look.seen.anchors) == (None, ()), "they are another cluster's"


def test_a_flow_that_was_failed_over_says_that_its_target_is_open_and_not_to_resume_it():
    world = World(a_config())
    world.copy(records=100, end=107)
    operation = Operation("A->B", "op1", "failover", "done", by="ada@one", turn=1, writable="B")
    stopped = Intent("A->B", Desired.STOP, "ada@one, failover op1", 1)
    world.target.write(status_topic("A"), operation, stopped, FlowStatus("A->B", "STOPPED"))
    health = look_at(world.config.flows[0], world).health
    assert (health.state, health.reason) == (
        "STOPPED",
        "stopped by ada@one, failover op1; B is open for clients since failover op1 of ada@one",
    )


def test_a_flow_that_ends_at_an_offset_is_not_behind_what_comes_later():
    flow = a_flow()
    until = {"orders": {0: 40}}
    bounded = replace(flow.copying, until_offsets=until)
    world = World(a_config(flow.model_copy(update={"copying": bounded})))
    world.copy(records=30, end=90)
    assert look_at(world.config.flows[0], world).lag().records == 10
    world.copy(records=40, end=90)
    assert look_at(world.config.flows[0], world).lag().records == 0
