"""MirrorMaker 2's scenarios for selection, cycles and hops, by topic names."""

from __future__ import annotations

import pytest
from support.settings.configs import a_flow

from replication.naming.policy import IdentityPolicy, Origin, PrefixPolicy, hops, original_topic
from replication.naming.selection import TopicSelector
from replication.settings.naming_settings import Naming, Selection

ALIASES = ("source", "target", "othersource", "us-west")
BEATS = ("heartbeats", "us-west.heartbeats")
NOTHING = ()


def selected(*topics: str, naming: Naming = Naming(), **selection: object) -> tuple[str, ...]:  # noqa: B008 - frozen
    flow = a_flow("source", "target")
    changed = flow.model_copy(update={"naming": naming, "selection": Selection(**selection)})
    return TopicSelector.for_flow(changed, ALIASES).selected(topics)


def test_sc_01_heartbeats_are_copied_by_default():
    assert selected(*BEATS) == BEATS


def test_sc_02_heartbeats_are_copied_whatever_the_filter_says():
    assert selected(*BEATS, topics=NOTHING) == BEATS
    other = Naming(separator="_")
    assert selected(*BEATS, topics=NOTHING, naming=other) == ("heartbeats",)


def test_sc_03_heartbeats_are_not_copied_when_that_is_off():
    assert selected(*BEATS, topics=("orders",), heartbeats=False) == ()


def test_sc_04_heartbeats_that_the_filter_takes_are_copied_all_the_same():
    assert selected(*BEATS, heartbeats=False) == BEATS


def test_sc_05_nothing_goes_back_to_where_it_has_been():
    been = ["target.topic1", "target.source.topic1", "source.target.topic1",
            "target.othersource.topic1", "othersource.target.topic1"]  # fmt: skip
    assert selected("topic1", "othersource.topic1", *been) == ("othersource.topic1", "topic1")


def test_sc_06_names_that_are_kept_show_cycles_of_heartbeats_alone():
    naming = Naming(kind="identity")
    kept = ["heartbeats", "othersource.heartbeats", "target.topic1", "topic1"]
    assert selected(*kept, "target.heartbeats", naming=naming) == tuple(sorted(kept))


def test_sc_18_a_name_without_a_source_before_its_separator_is_no_cycle():
    assert selected(".b") == (".b",)


PREFIXES = PrefixPolicy(frozenset({"source1", "source2", "source3", "source4", "source5"}))


def distance(topic: str, cluster: str) -> int:
    path = [each.cluster for each in hops(PREFIXES, topic)]
    return path.index(cluster) + 1 if cluster in path else -1


@pytest.mark.parametrize(
    ("topic", "cluster", "count"),
    [
        ("topic", "source1", -1),
        ("source1.topic", "source1", 1),
        ("source1.topic", "source2", -1),
        ("source2.source1.topic", "source1", 2),
        ("source2.source1.topic", "source2", 1),
        ("source3.source2.source1.topic", "source1", 3),
        ("source3.source2.source1.topic", "source4", -1),
    ],
)
def test_mc_03_the_hops_of_a_topic_are_counted_from_its_last(topic, cluster, count):
    assert distance(topic, cluster) == count


def test_mc_12_names_that_are_kept_have_no_source_but_those_of_heartbeats():
    kept = IdentityPolicy(frozenset({"backup"}))
    assert kept.origin("backup.heartbeats") == Origin("backup", "heartbeats")
    assert kept.origin("backup.topic1") is None
    assert kept.origin("heartbeats") is None


def test_st_01_st_04_a_copy_has_the_remote_name_and_the_same_partition():
    policy = PrefixPolicy(frozenset({"cluster7"}))
    assert policy.remote_topic("cluster7", "topic1") == "cluster7.topic1"
    assert original_topic(policy, "cluster7.topic1") == "topic1"


def test_ct_01_a_checkpoint_names_the_topic_as_the_target_does():
    policy = PrefixPolicy(frozenset({"source1", "target2", "source6"}))
    assert policy.remote_topic("source1", "topic3") == "source1.topic3"
    assert policy.remote_topic("source1", "source6.topic7") == "source1.source6.topic7"
    assert policy.origin("target2.topic3") == Origin("target2", "topic3")


@pytest.mark.parametrize(
    ("topic", "beats"),
    [
        ("heartbeats", True),
        ("source1.heartbeats", True),
        ("source2.source1.heartbeats", True),
        ("heartbeats!", False),
        ("!heartbeats", False),
        ("source1heartbeats", False),
        ("source1-heartbeats", False),
    ],
)
def test_mc_01_heartbeats_are_known_by_their_name_behind_any_hops(topic, beats):
    assert (original_topic(PREFIXES, topic) == "heartbeats") is beats


def test_mc_08_heartbeats_show_their_way_where_names_are_kept_too():
    kept = IdentityPolicy(PREFIXES.clusters)
    path = [each.cluster for each in hops(kept, "source3.source4.source5.heartbeats")]
    assert path == ["source3", "source4", "source5"]


def test_mc_11_a_separator_of_ones_own_shows_the_hops_as_well():
    policy = PrefixPolicy(PREFIXES.clusters, "__")
    assert policy.origin("source1__topic4") == Origin("source1", "topic4")
    assert policy.origin("source1.topic4") is None
