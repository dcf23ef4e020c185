"""Where groups that read renamed copies continue at home, and when that is not known yet."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from support.fakes.memory_groups import Groups
from support.settings.configs import a_flow

from orchestration.switchover.home_positions import HomePlan, HomePositions
from replication.errors import ClusterRejected, ClusterUnavailable, ReplicationError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import (
    UNSTABLE,
    CommitGroup,
    Committed,
    LeaveGroup,
    LeaveOffset,
)
from replication.offsets.known_points import KnownPoints
from replication.offsets.offset_map import Answer
from replication.state import Anchor

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)


@dataclass
class Reader:
    """The flow A->B, which has copied ``ORDERS`` to ``COPY``, 1000 offsets further on."""

    anchors: tuple[Anchor, ...] = (Anchor("A->B", *ORDERS, COPY.topic, 50, 1050),)
    errors: dict[TopicPartition, ReplicationError] = field(default_factory=dict)

    def look(self):
        known = KnownPoints("A->B")
        known.learn(self.anchors)
        return known

    def translate(self, wanted, *, back):
        assert back
        there = {where: offsets for where, offsets in wanted.items() if where not in self.errors}
        return {where: {each: Answer(each - 1000) for each in its} for where, its in there.items()}


@dataclass
class Sync:
    """The groups on A, the source of the flow that copied, and on B, where they read now."""

    source: Groups
    target: Groups


def home(**on_b) -> HomePositions:
    return HomePositions(a_flow(), Sync(Groups(), Groups(**on_b)), Reader())


def test_an_offset_in_a_renamed_copy_becomes_that_of_the_original():
    commit = CommitGroup("g", {ORDERS: Committed(10)})
    assert home(g={COPY: Committed(1010)}).plan() == HomePlan((commit,))


def test_a_flow_without_renamed_copies_moves_no_group():
    at_home = home(g={COPY: Committed(1010)})
    at_home.reader.anchors = ()
    assert at_home.plan() == HomePlan()


def test_a_group_whose_offset_a_transaction_may_change_is_named_and_not_taken_for_none():
    why = "a transaction with its offset in A.orders-0 is open"
    assert home(g={COPY: Committed(UNSTABLE)}).plan() == HomePlan(
        (LeaveOffset("g", ORDERS, why),),
        f"group g: {why}; stop its consumers, or wait until it ends",
    )


@pytest.mark.parametrize("silent", ["source", "target"])
def test_a_coordinator_that_does_not_answer_may_have_more_groups(silent):
    at_home = home(g={COPY: Committed(1010)})
    getattr(at_home.sync, silent).unavailable = {3: "broker 3 gave no answer"}
    assert at_home.plan().unread == "broker 3 gave no answer"


def test_where_a_partition_does_not_answer_the_offset_in_it_is_not_known_yet():
    at_home = home(g={COPY: Committed(1010)})
    at_home.reader.errors = {ORDERS: ClusterUnavailable("its leader gave no answer")}
    found = at_home.plan()
    assert found.unread == "its leader gave no answer"
    (left,) = found.actions
    assert left.reason == "offset 1010 of its copy was not translated: its leader gave no answer"


def test_where_time_does_not_help_the_group_is_named_and_the_others_come_home():
    at_home = home(g={COPY: Committed(1010)})
    at_home.reader.errors = {ORDERS: ClusterRejected("not authorized to describe topic orders")}
    why = "offset 1010 of its copy was not translated: not authorized to describe topic orders"
    assert at_home.plan() == HomePlan((LeaveOffset("g", ORDERS, why),))


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_group_that_may_not_be_read_is_named_and_the_others_come_home(side):
    at_home = home(g={COPY: Committed(1010)}, h={COPY: Committed(1020)})
    at_home.sync.source.held["g"] = {ORDERS: Committed(3)}
    getattr(at_home.sync, side).unreadable = {"g": "reading its offsets: denied"}
    reasons = {
        "source": "its offsets on the target could not be read: reading its offsets: denied",
        "target": "its offsets on B are unknown: reading its offsets: denied",
    }
    actions = at_home.plan().actions
    assert CommitGroup("h", {ORDERS: Committed(20)}) in actions
    assert LeaveGroup("g", reasons[side]) in actions
    assert len(actions) == 2


def test_a_group_that_may_not_be_read_and_that_the_flow_does_not_select_is_not_its_matter():
    at_home = home(g={COPY: Committed(1010)})
    at_home.sync.target.unreadable = {"connect-x": "reading its offsets: denied"}
    assert at_home.plan() == HomePlan((CommitGroup("g", {ORDERS: Committed(10)}),))
