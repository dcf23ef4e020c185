"""How the configs of copies follow their sources."""

from __future__ import annotations

import pytest
from support.fakes.memory_admin import MemoryCluster
from support.fakes.plan_clusters import Stage, flow, one_topic

from replication.client.admin import ConfigValue, SetBy
from replication.planning.topic_plan import AlterConfigs, CreateTopic, Keep
from replication.settings.naming_settings import Naming
from replication.settings.topic_settings import ConfigSync, TopicCreation
from replication.state import parse


@pytest.mark.parametrize(
    ("theirs", "ours", "line"),
    [
        pytest.param({"a": "1"}, {"a": "1"}, None, id="same"),
        pytest.param(
            {"retention.ms": "1"},
            {"retention.ms": "2"},
            "alter A.orders: retention.ms: 2 -> 1, as on A",
            id="value differs",
        ),
        pytest.param(
            {"retention.ms": "1"},
            {},
            "alter A.orders: retention.ms: not set -> 1, as on A",
            id="set only at the source",
        ),
        pytest.param(
            {},
            {"retention.ms": "2"},
            "alter A.orders: retention.ms: unset (was 2), not set on A",
            id="BL-088 set only at the target",
        ),
        pytest.param({}, {"min.insync.replicas": "1"}, None, id="excluded, so never touched"),
        pytest.param({}, {"new.in.B": "2"}, None, id="the source does not know it"),
    ],
)
def test_sc_11_configs_follow_the_source(theirs, ours, line):
    assert one_topic(theirs, ours).lines() == ([] if line is None else [line])


def test_bl_090_nothing_is_altered_when_nothing_differs_and_a_topic_once_when_something_does():
    counts = {f"t{each}": 1 for each in range(500)}
    configs = {name: {"retention.ms": "1000"} for name in counts}
    copies = {f"A.{name}": 1 for name in counts}
    stage = Stage(
        flow(),
        A=MemoryCluster(counts, configs),
        B=MemoryCluster(copies, {name: {"retention.ms": "1000"} for name in copies}),
    )
    stage.apply()
    assert stage.target.altered == []
    configs["t7"] = {"retention.ms": "5", "cleanup.policy": "compact"}
    stage.apply()
    assert stage.target.altered == [
        ("A.t7", {"cleanup.policy": "compact", "retention.ms": "5"}),
    ]


def test_bl_089_a_refused_config_blocks_no_other_and_is_tried_again_only_when_it_changes():
    stage = one_topic({"retention.ms": "1", "cleanup.policy": "compact"})
    stage.target.refuses.add(("cleanup.policy", "compact"))
    (outcome,) = stage.apply()
    assert outcome.failed
    assert list(outcome.refused) == ["cleanup.policy"]
    assert stage.target.configs["A.orders"] == {"retention.ms": "1"}

    stage.target.altered.clear()
    (kept,) = stage.apply()
    assert stage.target.altered == []
    assert kept.action == Keep(
        "A.orders",
        "cleanup.policy = compact was rejected (altering configs of A.orders: cleanup.policy "
        "violates a policy); retried when the value changes",
    )

    assert [type(each) for each in stage.plan(again=True).actions] == [AlterConfigs]
    stage.target.refuses.clear()
    assert not any(each.failed for each in stage.apply(again=True))
    assert stage.plan().actions == ()


def test_bl_089_a_config_that_the_target_does_not_know_is_reported_and_not_tried():
    stage = one_topic({"old.config": "false", "retention.ms": "1"})
    assert stage.lines() == [
        "alter A.orders: retention.ms: not set -> 1, as on A",
        ("leave A.orders unchanged: old.config = false is not set: B has no such topic config"),
    ]


def test_bl_089_a_topic_is_made_without_the_configs_that_the_target_refuses():
    stage = Stage(
        flow(),
        A=MemoryCluster({"t": 1}, {"t": {"retention.ms": "1", "cleanup.policy": "compact"}}),
        B=MemoryCluster(refuses={("cleanup.policy", "compact")}),
    )
    (outcome,) = stage.apply()
    assert stage.target.configs == {"A.t": {"retention.ms": "1"}}
    assert list(outcome.refused) == ["cleanup.policy"]
    assert [type(each) for each in stage.plan().actions] == [Keep]


def test_a_change_made_on_the_target_by_others_is_reported_from_one_at_the_source():
    stage = one_topic({"retention.ms": "1"})
    stage.apply()
    stage.target.configs["A.orders"]["retention.ms"] = "9"
    assert stage.lines() == [
        "alter A.orders: retention.ms: 9 -> 1, changed on B since the last apply"
    ]
    stage.target.configs["A.orders"]["retention.ms"] = "1"
    stage.clusters["A"].configs["orders"]["retention.ms"] = "2"
    assert stage.lines() == ["alter A.orders: retention.ms: 1 -> 2, as on A"]


def test_what_was_applied_is_stored_as_it_is_read():
    stage = one_topic({"retention.ms": "1", "cleanup.policy": "compact"})
    stage.target.refuses.add(("cleanup.policy", "compact"))
    stage.apply()
    ((record,),) = (each.values() for each in stage.clients.records.topics.values())
    assert parse(record.key(), record.value()) == record
    assert (record.flow, record.topic, record.configs) == (
        "A->B",
        "A.orders",
        {"retention.ms": "1"},
    )


def test_what_the_file_says_of_a_topic_beats_the_source_and_the_exclusions():
    overrides = (("or.*", "retention.ms", "5"), ("orders", "min.insync.replicas", "2"))
    rules = ConfigSync(overrides=(*overrides, ("orders", "cleanup.policy", "")))
    stage = one_topic({"retention.ms": "1", "cleanup.policy": "compact"}, rules=rules)
    assert stage.lines() == [
        (
            "alter A.orders: min.insync.replicas: not set -> 2, set in the configuration file; "
            "retention.ms: not set -> 5, set in the configuration file"
        )
    ]
    stage.apply()
    assert stage.target.configs["A.orders"] == {"min.insync.replicas": "2", "retention.ms": "5"}


def test_sc_13_defaults_of_the_source_are_set_when_the_file_says_so():
    stage = Stage(
        flow(configs=ConfigSync(defaults_from="source")),
        A=MemoryCluster({"orders": 1}, {}, defaults={"retention.ms": "7", "cleanup.policy": "x"}),
    )
    (made,) = stage.plan().actions
    assert made.configs == {"retention.ms": "7", "cleanup.policy": "x"}
    stage.apply()
    assert stage.plan().actions == ()


def test_sc_12_values_of_a_brokers_file_never_follow():
    source = MemoryCluster({"orders": 1})
    source.topic_settings = lambda topics: {
        each: {"retention.ms": ConfigValue("7", SetBy.FILE), "a": ConfigValue("1", SetBy.BROKERS)}
        for each in topics
    }
    for defaults, configs in (("target", {}), ("source", {"a": "1"})):
        stage = Stage(flow(configs=ConfigSync(defaults_from=defaults)), A=source)
        (made,) = stage.plan().actions
        assert made.configs == configs


def test_sc_14_exclusions_are_patterns_for_whole_names():
    stage = Stage(
        flow(configs=ConfigSync(exclude=(r"retention\..*", "cleanup"))),
        A=MemoryCluster({"t": 1}, {"t": {"retention.ms": "1", "cleanup.policy": "compact"}}),
    )
    (made,) = stage.plan().actions
    assert made.configs == {"cleanup.policy": "compact"}


def test_configs_are_left_alone_when_their_sync_is_switched_off_but_new_topics_have_them():
    off = ConfigSync(enabled=False)
    stage = Stage(
        flow(configs=off),
        A=MemoryCluster({"a": 1, "b": 1}, {"a": {"x": "1"}, "b": {"x": "1"}}),
        B=MemoryCluster({"A.a": 1}),
    )
    assert [type(each) for each in stage.plan().actions] == [CreateTopic]


def test_strategy_none_copies_no_config_and_touches_none():
    creation = TopicCreation(replication_factor=1, configs_strategy="NONE")
    stage = Stage(
        flow(creation=creation),
        A=MemoryCluster({"a": 1, "b": 1}, {"a": {"x": "1"}, "b": {"x": "1"}}),
        B=MemoryCluster({"A.a": 1}, {"A.a": {"retention.ms": "5"}}),
    )
    (made,) = stage.plan().actions
    assert made == CreateTopic("A.b", 1, 1, {}, "A has it and B does not")


def merged(strategy: str, **topics: dict[str, str]) -> Stage:
    creation = TopicCreation(replication_factor=1, configs_strategy=strategy)
    flows = [flow(each, creation=creation, naming=Naming(kind="identity")) for each in topics]
    sources = {
        alias: MemoryCluster({"orders": count + 1}, {"orders": configs})
        for count, (alias, configs) in enumerate(topics.items())
    }
    return Stage(*flows, **sources)


@pytest.mark.parametrize(
    ("strategy", "configs"),
    [
        ("INTERSECTION", {"a": "1"}),
        ("MAJORITY", {"a": "1", "b": "1"}),
        ("FIRST", {"a": "1", "b": "2"}),
        ("NONE", {}),
    ],
)
def test_a_topic_of_several_sources_has_the_most_partitions_and_configs_by_strategy(
    strategy, configs
):
    stage = merged(strategy, A={"a": "1", "b": "2"}, C={"a": "1", "b": "1"}, D={"a": "1", "b": "1"})
    made = stage.plan().actions[0]
    assert (made.topic, made.partitions, made.configs) == ("orders", 3, configs)
    stage.apply()
    assert all(isinstance(each, Keep) for each in stage.plan().actions)


def test_what_the_sources_of_a_topic_do_not_agree_on_is_reported():
    stage = merged("FIRST", A={"retention.ms": "1"}, C={})
    stage.apply()
    assert stage.lines() == [
        "leave orders unchanged: retention.ms differs (A orders: 1, C orders: not set): 1 holds"
    ]
