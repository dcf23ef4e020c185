"""What one look at a flow finds, when one of its topics is not copied any more."""

from __future__ import annotations

import pytest
from support.builders import a_config
from support.fake_flows import World

from orchestration.flows.observe import look_at
from replication.model import ABSENT, PartitionState
from replication.state import AbsentTopic, Anchor, anchors_topic, status_topic


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
