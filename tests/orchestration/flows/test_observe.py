"""What one look at a flow finds: of topics that are not copied any more, of its driver."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from support.builders import a_config
from support.fake_flows import World

from orchestration.flows.observe import look_at, now_ms
from replication.model import ABSENT, PartitionState
from replication.state import AbsentTopic, Anchor, FlowStatus, anchors_topic, status_topic


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
