"""Taking flows over: when it is refused, and what is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config, a_flow

from orchestration.handover.handover import (
    TakeoverFinding,
    require_silence,
    stopped_anchors,
    take_over,
)
from orchestration.handover.mm2_snapshot import Mm2Activity
from replication.errors import ClusterRejected, FlowTaken, WrongCluster
from replication.mm2.takeover import BeginNew, EndOffsets, TakeOver, Unproven
from replication.model import TopicPartition
from replication.state import ClusterIds

if TYPE_CHECKING:
    from replication.state import Anchor

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
ENDS = EndOffsets(ORDERS, COPY, "", "", 0, 100, 0, 50)
AT_50 = {COPY: 50}


@pytest.fixture
def world():
    return World(a_config(a_flow()))


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        pytest.param(
            Mm2Activity(1, None, AT_50),
            Mm2Activity(1, None, AT_50),
            "1 members in group",
            id="a worker",
        ),
        pytest.param(
            Mm2Activity(0, 900, AT_50),
            Mm2Activity(0, 400, AT_50),
            "to topic heartbeats on B, the last 0.4 s ago",
            id="beats",
        ),
        pytest.param(
            Mm2Activity(None, None, AT_50),
            Mm2Activity(None, None, {COPY: 51}),
            "writes to A.orders-0",
            id="the target grows",
        ),
    ],
)
def test_a_mirrormaker_that_shows_any_sign_of_life_is_not_taken_over_from(before, after, why):
    with pytest.raises(ClusterRejected, match=why):
        require_silence(a_flow(), before, after, 5)


def test_how_it_was_judged_is_reported():
    reasons = require_silence(a_flow(), Mm2Activity(0, 1000, AT_50), Mm2Activity(0, 6000, AT_50), 5)
    assert reasons[0].endswith(" has no members")
    assert reasons[2] == "no record written to 1 target partitions for 5 s"
    unknown = require_silence(a_flow(), Mm2Activity(None, None, {}), Mm2Activity(None, None, {}), 5)
    assert unknown[0].startswith("no permission to describe group")


@pytest.mark.parametrize(
    ("state", "age_s", "free"),
    [
        pytest.param("RUNNING", 1, False, id="it runs"),
        pytest.param("RUNNING", 60, True, id="its driver is dead"),
        pytest.param("PAUSED", 1, True, id="paused"),
        pytest.param("STOPPED", 1, True, id="stopped"),
    ],
)
def test_only_a_flow_that_rests_is_taken_over(world, state, age_s, free):
    world.copy(5, 10, age_s, state=state)
    if free:
        assert stopped_anchors(a_flow(), world)[ORDERS].source == 5
    else:
        with pytest.raises(FlowTaken, match="isthmus stop FILE -f 'A->B'"):
            stopped_anchors(a_flow(), world)


def test_bl_223_no_position_is_taken_from_a_source_that_is_another_cluster(world):
    world.copy(5, 10, 60, state="STOPPED")
    world.target.write("isthmus-status.A.internal", ClusterIds("A->B", "id-a", "id-b"))
    world.origin.id = "id-b"
    with pytest.raises(WrongCluster, match="A->B: source A is now the cluster with id id-b"):
        stopped_anchors(a_flow(), world)


def found(*steps) -> TakeoverFinding:
    return TakeoverFinding(a_flow(), (), 1, steps)


def anchors(world) -> dict[str, Anchor]:
    return {e.topic: e for e in world.target.read("isthmus-anchors.A.internal").values()}


def test_st_05_what_mirrormaker_copied_goes_on_and_the_rest_begins(world):
    steps = TakeOver(ENDS, 40, 48, "proven"), BeginNew(ENDS)
    assert take_over(found(*steps), {}, world, trust=False) == 1
    assert anchors(world)["orders"].source == 48


def test_one_partition_without_proof_leaves_all_as_it_is_unless_the_stored_one_is_trusted(world):
    steps = TakeOver(ENDS, 40, 48, "proven"), Unproven(ENDS, 40, "other content")
    with pytest.raises(ClusterRejected, match="other content; nothing was changed"):
        take_over(found(*steps), {}, world, trust=False)
    assert anchors(world) == {}
    take_over(found(steps[1]), {}, world, trust=True)
    assert anchors(world)["orders"].source == 41


def test_a_plan_that_trusts_still_counts_partitions_without_any_position():
    stored, none = Unproven(ENDS, 40, "other content"), Unproven(ENDS, None, "other content")
    plan = found(stored, none)
    assert plan.unproven(trust=False) == (stored, none)
    assert plan.unproven(trust=True) == (none,), "`takeover --yes` would end with it"


def test_without_any_position_there_is_nothing_to_trust(world):
    with pytest.raises(ClusterRejected, match="nothing was changed"):
        take_over(found(Unproven(ENDS, None, "other content")), {}, world, trust=True)
