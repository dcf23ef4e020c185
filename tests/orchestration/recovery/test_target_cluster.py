"""A failover opens no cluster that the target's address leads to by mistake."""

from __future__ import annotations

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config

from orchestration.recovery.target_cluster import require_target
from replication.errors import WrongCluster
from replication.state import ClusterIds, status_topic


def test_a_target_that_is_another_cluster_than_before_is_refused():
    world = World(a_config())
    (flow, *_) = world.config.flows
    require_target(flow, world.config, world, world)  # nothing is known of it
    world.local[flow.name] = ClusterIds(flow.name, "id-a", "id-b", at_ms=5)
    world.origin.id = "id-b"  # the source's address was switched to the target
    require_target(flow, world.config, world, world)
    world.target.id = "id-c"
    with pytest.raises(WrongCluster, match="target B is now the cluster with id id-c"):
        require_target(flow, world.config, world, world)


def test_a_target_that_an_operator_has_accepted_since_is_the_right_one():
    world = World(a_config())
    (flow, *_) = world.config.flows
    world.local[flow.name] = ClusterIds(flow.name, "id-a", "id-old", at_ms=5)
    accepted = ClusterIds(flow.name, "id-a", "id-b", "ada@one", 6)
    world.target.write(status_topic(flow.source), accepted)
    require_target(flow, world.config, world, world)
