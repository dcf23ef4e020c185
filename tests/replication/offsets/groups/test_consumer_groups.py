"""Positions of groups on the target: what may be moved, and what must stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import (
    UNSTABLE,
    CommitGroup,
    Committed,
    Group,
    LeaveGroup,
    TargetGroups,
    explain_group,
    lowest,
    plan_groups,
)

P0, P1 = TopicPartition("A.orders", 0), TopicPartition("A.orders", 1)


def plan(expected, state="Empty", now=None, kind="classic", **rest):
    there = {} if state is None else {"g": Group("g", state, kind, 4)}
    target = TargetGroups(there, {"g": now or {}})
    return list(plan_groups({"g": expected}, target, **rest))


def test_a_group_that_the_target_does_not_know_is_set_where_it_stood():
    at = {P0: Committed(7, "note"), P1: Committed(0)}
    assert plan(at, state=None) == [CommitGroup("g", at)]


def test_ct_03_bl_080_an_empty_group_is_moved_forward():
    (action,) = plan({P0: Committed(9)}, now={P0: Committed(5)})
    assert action == CommitGroup("g", {P0: Committed(9)}, {P0: Committed(5)}, 4)


def test_a_group_with_live_members_is_never_touched():
    for state in ("Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Unknown"):
        (action,) = plan({P0: Committed(9)}, state)
        assert isinstance(action, LeaveGroup)
        assert state in action.reason


def test_a_group_that_is_left_alone_holds_no_other_back():
    groups = {"a": Group("a", "Stable"), "b": Group("b"), "c": Group("c", "Stable")}
    target = TargetGroups(groups, {"b": {}})
    at = {P0: Committed(9)}
    found = list(plan_groups(dict.fromkeys("cba", at), target))
    assert [(type(each), each.group) for each in found] == [
        (LeaveGroup, "a"),
        (CommitGroup, "b"),
        (LeaveGroup, "c"),
    ]


def test_a_share_group_of_the_same_name_is_left_alone():
    (action,) = plan({P0: Committed(9)}, kind="share")
    assert action == LeaveGroup(
        "g", "it is a share group on the target, which has no committed offsets"
    )


def test_bl_077_no_position_moves_back_unless_a_person_wants_it():
    assert plan({P0: Committed(4)}, now={P0: Committed(5)}) == []
    (action,) = plan({P0: Committed(4)}, now={P0: Committed(5)}, rewind=True)
    assert action.positions == {P0: Committed(4)}


def test_ct_04_a_position_that_a_client_has_reset_to_none_is_set_again():
    (action,) = plan({P0: Committed(4)}, now={P0: Committed(-1)})
    assert action.positions == {P0: Committed(4)}


def test_what_a_group_has_not_committed_or_may_still_take_back_is_no_known_offset():
    assert [Committed(each).known for each in (0, 7, -1, UNSTABLE)] == [0, 7, None, None]


def test_only_what_moves_is_committed_and_a_second_plan_is_empty():
    expected = {P0: Committed(4), P1: Committed(8)}
    (action,) = plan(expected, now={P0: Committed(4), P1: Committed(3)})
    assert action.positions == {P1: Committed(8)}
    assert plan(expected, now=expected) == []


POSITIONS = st.dictionaries(st.sampled_from([P0, P1]), st.integers(-1, 50).map(Committed))


@given(POSITIONS.map(lambda p: {k: v for k, v in p.items() if v.offset >= 0}), POSITIONS)
def test_a_sync_never_takes_an_offset_back(expected, now):
    for action in plan(expected, now=now):
        for where, new in action.positions.items():
            assert new.offset > now.get(where, Committed(-1)).offset


def test_where_sources_merge_the_lowest_position_counts():
    one, other = {P0: Committed(9), P1: Committed(3)}, {P0: Committed(4)}
    assert lowest([one, other]) == {P0: Committed(4), P1: Committed(3)}


def test_where_one_source_is_not_known_nothing_is_committed():
    assert lowest([{P0: Committed(9)}, {P0: None}]) == {}
    assert lowest([{P0: None}, {P0: Committed(9)}]) == {}
    assert lowest([{P0: None, P1: Committed(1)}, {}]) == {P1: Committed(1)}


def test_a_plan_is_reported_a_line_a_position():
    action = CommitGroup("g", {P0: Committed(9), P1: Committed(1)}, {P0: Committed(5)})
    assert list(explain_group(action)) == [
        "set group g to A.orders-0 offset 9 (now 5)",
        "set group g to A.orders-1 offset 1",
    ]
    (line,) = explain_group(LeaveGroup("g", "it has active members on the target (Stable)"))
    assert line == "leave group g unchanged: it has active members on the target (Stable)"
