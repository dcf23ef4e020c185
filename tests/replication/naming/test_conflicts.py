import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.naming.conflicts import (
    ConflictKind,
    Named,
    TargetNames,
    find_conflicts,
    refusals,
)

NOTHING = TargetNames()


def kinds(*named, target=NOTHING):
    return [(each.kind, each.target) for each in find_conflicts(named, target)]


def refused(*named, target=NOTHING):
    return [(e.flow, e.topic) for each in find_conflicts(named, target) for e in each.refused]


def kept(flow, topic="orders", **more):
    return Named(flow, topic, topic, rule="identity", **more)


def renamed(flow, topic, target, rule="rule", **more):
    return Named(flow, topic, target, rule=rule, **more)


def test_names_that_do_not_meet_need_no_word():
    assert kinds(renamed("A->C", "t", "A.t"), renamed("B->C", "t", "B.t")) == []


def test_bl_039_same_topics_that_keep_their_name_merge_and_it_is_reported():
    (merge,) = find_conflicts([kept("A->C"), kept("B->C")], NOTHING)
    assert (merge.kind, merge.refused) == (ConflictKind.MERGE, ())
    assert str(merge) == "orders: orders of A and orders of B merge into this topic"


def test_one_rule_that_renames_same_topics_merges_them_on_purpose():
    pair = renamed("A->C", "orders-v1", "orders"), renamed("B->C", "orders-v1", "orders")
    assert kinds(*pair) == [(ConflictKind.MERGE, "orders")]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(renamed("B->C", "bestellungen", "orders"), id="another topic"),
        pytest.param(renamed("B->C", "orders-v1", "orders", rule="other"), id="another rule"),
        pytest.param(kept("B->C"), id="one that keeps its name"),
    ],
)
def test_names_that_meet_by_chance_are_refused_until_confirmed(other):
    one = renamed("A->C", "orders-v1", "orders")
    assert refused(one, other) == [("A->C", "orders-v1"), ("B->C", other.topic)]
    (conflict,) = find_conflicts([one, other], NOTHING)
    assert conflict.reason.endswith("if that is intended, set topics.merge = orders")
    confirmed = one._replace(merges=True), other._replace(merges=True)
    assert kinds(*confirmed) == [(ConflictKind.MERGE, "orders")]
    assert refused(one, other._replace(merges=True)) != []


def test_a_newcomer_does_not_stop_what_has_been_copied_for_long():
    target = TargetNames({"orders"}, {"orders"}, {"orders": {("A->C", "orders-v1")}})
    pair = renamed("A->C", "orders-v1", "orders"), renamed("B->C", "x", "orders")
    assert refused(*pair, target=target) == [("B->C", "x")]


def test_what_another_process_copies_into_a_topic_counts_too():
    target = TargetNames({"orders"}, {"orders"}, {"orders": {("A->C", "orders")}})
    assert kinds(kept("B->C"), target=target) == [(ConflictKind.MERGE, "orders")]
    assert refused(renamed("B->C", "x", "orders"), target=target) == [("B->C", "x")]


def test_two_topics_of_one_source_never_share_a_name():
    pair = renamed("A->C", "a-x", "x", merges=True), kept("A->C", "x", merges=True)
    assert refused(*pair) == [("A->C", "a-x"), ("A->C", "x")]
    copied = TargetNames({"x"}, {"x"}, {"x": {("A->C", "x")}})
    assert refused(*pair, target=copied) == [("A->C", "a-x")]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("x" * 250, "the name has 250 characters, 249 is the most", id="too long"),
        pytest.param("a b/c", "a topic's name cannot have ' /' in it", id="characters"),
        pytest.param("..", "'..' cannot be a topic's name", id="dots"),
        pytest.param("", "'' cannot be a topic's name", id="empty"),
        pytest.param("ä", "a topic's name cannot have 'ä' in it", id="beyond ASCII"),
    ],
)
def test_bl_035_a_name_that_brokers_refuse_stops_its_topic_alone(name, reason):
    named = renamed("A->C", "t", name), kept("A->C")
    (conflict,) = find_conflicts(named, NOTHING)
    assert (conflict.kind, refusals([conflict], "A->C")) == (
        ConflictKind.ILLEGAL,
        {"t": f"{name}: t of A: {reason}"},
    )


def test_the_longest_legal_name_is_legal():
    assert kinds(renamed("A->C", "t", "x" * 249)) == []


@pytest.mark.parametrize(
    "name",
    ["heartbeats", "__consumer_offsets", "isthmus-anchors.A.internal", "A.checkpoints.internal"],
)
def test_nothing_is_copied_into_topics_that_others_keep_for_themselves(name):
    assert kinds(renamed("A->C", "t", name)) == [(ConflictKind.RESERVED, name)]


def test_bl_035_a_dot_beside_an_underscore_is_refused_as_brokers_do():
    named = renamed("A->C", "t1", "A.t1")
    assert refused(named, target=TargetNames({"A_t1"})) == [("A->C", "t1")]
    both = TargetNames({"A_t1", "A.t1"})
    assert refused(named, target=both) == []
    (conflict,) = find_conflicts([named], TargetNames({"A_t1"}))
    assert "together with A_t1" in conflict.reason


def test_of_two_new_names_with_one_metric_the_first_is_made():
    named = renamed("A->C", "a_b", "a_b"), renamed("A->C", "a.b", "a.b")
    assert refused(*named) == [("A->C", "a_b")]


FILLED = TargetNames({"orders"}, {"orders"})


def test_a_topic_with_records_of_others_is_not_mixed_into_before_somebody_says_so():
    assert kinds(kept("A->C"), target=FILLED) == [(ConflictKind.TAKEN, "orders")]
    assert kinds(kept("A->C", may_join=True), target=FILLED) == []


def test_an_empty_topic_or_one_of_ours_is_no_foreign_writer():
    assert kinds(kept("A->C"), target=TargetNames({"orders"})) == []
    ours = TargetNames({"orders"}, {"orders"}, {"orders": {("A->C", "orders")}})
    assert kinds(kept("A->C"), target=ours) == []


def test_a_flow_whose_anchors_are_gone_is_asked_about_its_position_instead():
    lost = TargetNames({"orders"}, {"orders"}, lost={"A->C"})
    assert kinds(kept("A->C"), target=lost) == []


NAMED = st.builds(
    Named,
    st.sampled_from(["A->C", "B->C", "D->C"]),
    st.sampled_from(["x", "y", "x.y"]),
    st.sampled_from(["x", "y", "x.y", "x_y", "a b"]),
    st.sampled_from(["r1", "r2"]),
    st.booleans(),
    st.booleans(),
)


@given(st.sets(NAMED), st.sets(st.sampled_from(["x", "y", "x.y"])))
def test_what_is_left_never_mixes_unless_it_is_meant(named, filled):
    target = TargetNames(filled, filled)
    out = {(e.flow, e.topic, e.target) for c in find_conflicts(named, target) for e in c.refused}
    left = [each for each in named if (each.flow, each.topic, each.target) not in out]
    assert not [c for c in find_conflicts(left, target) if c.refused]
