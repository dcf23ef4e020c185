import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.errors import ConfigError
from replication.model import Origin
from replication.naming.java_replacement import read_replacement
from replication.naming.policy import (
    IdentityPolicy,
    MapPolicy,
    PrefixPolicy,
    RenamePolicy,
    hops,
    original_topic,
    would_cycle,
)
from replication.naming.topic_map import names_for
from replication.settings.naming_settings import MappedName

POLICY = PrefixPolicy(frozenset({"us", "eu", "us.west"}))


@pytest.mark.parametrize(
    ("topic", "origin"),
    [
        pytest.param("orders", None, id="local"),
        pytest.param("billing.invoices", None, id="local, with a dot"),
        pytest.param("us.", None, id="nothing after the separator"),
        pytest.param(".orders", None, id="nothing before the separator"),
        pytest.param("us.orders", Origin("us", "orders"), id="one hop"),
        pytest.param("us.eu.orders", Origin("us", "eu.orders"), id="two hops: the last one"),
        pytest.param("us.west.t1", Origin("us.west", "t1"), id="the longest cluster's name"),
        pytest.param("usa.orders", None, id="a longer word"),
    ],
)
def test_bl_015_bl_034_a_topic_comes_from_a_known_cluster_or_is_local(topic, origin):
    assert POLICY.origin(topic) == origin


def test_a_topic_would_cycle_when_it_has_been_on_the_target():
    assert would_cycle(POLICY, "eu.us.orders", "us")
    assert not would_cycle(POLICY, "eu.us.orders", "us.west")
    assert not would_cycle(POLICY, "orders", "us")


def test_hops_go_from_the_newest_to_the_oldest():
    assert list(hops(POLICY, "us.eu.t")) == [Origin("us", "eu.t"), Origin("eu", "t")]
    assert original_topic(POLICY, "us.eu.t") == "t"


def test_bl_033_an_empty_separator_is_refused():
    with pytest.raises(ConfigError, match=r"replication\.policy\.separator = \."):
        PrefixPolicy(frozenset({"us"}), "")


NAMES = st.text("abc.", min_size=1, max_size=8)


@given(st.lists(st.sampled_from(["us", "eu"]), max_size=4), NAMES.filter(lambda t: t[0] != "."))
def test_every_prefix_that_was_added_is_found_again(path, topic):
    name = topic
    for cluster in path:
        name = POLICY.remote_topic(cluster, name)
    assert [hop.cluster for hop in hops(POLICY, name)] == path[::-1]
    assert original_topic(POLICY, name) == topic


def test_identity_keeps_every_name_but_that_of_heartbeats():
    policy = IdentityPolicy(frozenset({"backup"}))
    assert policy.remote_topic("us", "orders") == "orders"
    assert policy.remote_topic("us", "my-heartbeats") == "my-heartbeats"
    assert policy.remote_topic("us", "heartbeats") == "us.heartbeats"
    assert policy.origin("orders") is None
    assert policy.origin("backup.heartbeats") == Origin("backup", "heartbeats")


def rename(pattern, replacement):
    compiled = re.compile(pattern)
    kept = IdentityPolicy(frozenset({"us", "backup"}))
    return RenamePolicy(compiled, read_replacement(replacement, compiled), kept, "target")


@pytest.mark.parametrize(
    ("policy", "topic", "name"),
    [
        pytest.param(rename("(.+)", "${source}.$1"), "t", "us.t", id="the source's name"),
        pytest.param(rename("(.+)", "${target}-$1"), "t", "target-t", id="the target's name"),
        pytest.param(rename("a-(.+)-(.+)", "$2.$1"), "a-x-y", "y.x", id="groups in any order"),
        pytest.param(rename("a-(.+)", "$1"), "b-x", "b-x", id="no match keeps the name"),
        pytest.param(rename("a", "$0$0"), "ab", "ab", id="a part is no match"),
        pytest.param(rename("(.+)", "x"), "heartbeats", "us.heartbeats", id="heartbeats: a prefix"),
    ],
)
def test_a_rule_renames_what_it_matches_whole(policy, topic, name):
    assert policy.remote_topic("us", topic) == name


MAP = (
    MappedName(None, "orders", "all-orders"),
    MappedName("us", "orders", "orders-of-us"),
    MappedName("eu", "clicks", "klicks"),
)


def mapped(here):
    return MapPolicy(POLICY, MAP, names_for(MAP, here), here)


def test_a_line_for_a_source_beats_one_for_all_and_the_rest_is_named_as_usual():
    assert mapped("us").remote_topic("us", "orders") == "orders-of-us"
    assert mapped("eu").remote_topic("eu", "orders") == "all-orders"
    assert mapped("us").remote_topic("us", "clicks") == "us.clicks"


def test_a_mapped_name_leads_back_to_the_topic_that_it_was_made_from():
    assert mapped("eu").origin("orders-of-us") == Origin("us", "orders")
    assert mapped("us").origin("orders-of-us") is None, "a line for us names nothing on us"
    assert mapped("us").origin("all-orders") is None, "several sources match"
    assert mapped("us").origin("eu.t") == Origin("eu", "t")


def test_both_directions_of_one_map_make_no_circle():
    lines = (MappedName("us", "orders", "orders-of-us"),)
    back = MapPolicy(POLICY, lines, names_for(lines, "eu"), "eu")
    assert would_cycle(back, "orders-of-us", "us")


def test_a_map_that_swaps_names_ends_when_followed_back():
    swap = (MappedName("us", "a", "b"), MappedName("eu", "b", "a"))
    assert list(hops(MapPolicy(POLICY, swap, {}, "x"), "a")) == [
        Origin("eu", "b"),
        Origin("us", "a"),
    ]
