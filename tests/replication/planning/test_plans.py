"""Plans of topics; after a plan was applied, the next one is empty."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fakes.memory_admin import MemoryCluster
from support.fakes.plan_clusters import Stage, flow, one_topic
from support.settings.configs import a_flow

from replication.client.acl_values import Acl, Resource
from replication.model import Mode
from replication.naming.conflicts import ConflictKind
from replication.planning.explain import as_data
from replication.planning.overview import overview
from replication.planning.planner import PlanPart
from replication.planning.topic_plan import CreateTopic, Keep, Refuse
from replication.settings.naming_settings import Naming
from replication.settings.state_policies import Policies
from replication.settings.topic_settings import ConfigSync, TopicCreation
from replication.state import Anchor, ClusterIds, NameDecision, anchors_topic, status_topic


def test_a_new_topic_is_made_with_its_sources_configs_but_not_those_of_its_brokers():
    stage = Stage(
        flow(),
        A=MemoryCluster(
            {"orders": 3},
            {"orders": {"retention.ms": "1000", "min.insync.replicas": "2"}},
        ),
    )
    (action,) = stage.plan().actions
    assert action == CreateTopic(
        "A.orders", 3, 1, {"retention.ms": "1000"}, "A has it and B does not"
    )


READ_ORDERS = Acl(Resource("topic", "orders"), "User:alice", "*", "READ")


def test_what_is_kept_of_flows_is_read_once_a_plan():
    source = MemoryCluster({"orders": 1}, rights={READ_ORDERS})
    stage = Stage(flow(), flow("C"), A=source, C=MemoryCluster({"orders": 1}))
    reads = stage.clients.records.reads
    stage.plan()
    kept = [status_topic("A"), status_topic("C")]
    assert [each for each in reads if each in kept] == kept
    stage.plan(parts={PlanPart.TOPICS})
    assert [each for each in reads if each in kept] == kept * 2


@pytest.mark.parametrize("parts", [{PlanPart.TOPICS}, {PlanPart.CONFIGS}, {PlanPart.ACLS}])
def test_bl_223_nothing_is_planned_from_a_source_that_is_another_cluster(parts):
    stage = Stage(flow(), A=MemoryCluster({"orders": 1}), B=MemoryCluster({"clicks": 1}))
    ids = [stage.clusters[each].cluster_id() for each in "AB"]
    stage.clients.records.write(status_topic("A"), ClusterIds("A->B", *ids))
    assert stage.plan(parts=parts).problems == ()
    stage.clusters["A"] = stage.clusters["B"]
    found = stage.plan(parts=parts)
    (problem,) = found.problems
    assert problem.startswith(f"A->B: source A is now the cluster with id {ids[1]}, which is B: ")
    assert found.actions == ()


def test_a_source_that_does_not_answer_is_reported_and_the_others_are_planned():
    stage = Stage(flow(), flow("C"), A=MemoryCluster(silent=True), C=MemoryCluster({"orders": 1}))
    found = stage.plan()
    assert found.problems == ("A->B: listing the topics at A:9092: no response in time",)
    assert [each.topic for each in found.actions] == ["C.orders"]


def test_partitions_that_the_file_asks_for_are_made_and_growth_follows_the_source():
    stage = Stage(
        flow(creation=TopicCreation(replication_factor=1, default_partitions=12)),
        A=MemoryCluster({"orders": 3, "old": 3}),
        B=MemoryCluster({"A.old": 3}),
    )
    stage.apply()
    assert stage.target.counts == {"A.orders": 12, "A.old": 3}
    assert stage.plan().actions == ()
    stage.clients.clusters["A"].counts.update(orders=13, old=4)
    stage.apply()
    assert stage.target.counts == {"A.orders": 13, "A.old": 4}


def test_a_merged_topic_has_room_for_every_partition_number():
    kept = {"naming": Naming(kind="identity")}
    stage = Stage(
        flow(**kept),
        flow("C", **kept),
        A=MemoryCluster({"orders": 3}),
        C=MemoryCluster({"orders": 12}),
    )
    stage.apply()
    assert stage.target.counts == {"orders": 12}


def test_bl_083_configs_that_may_not_be_seen_hold_up_nothing_else():
    source = MemoryCluster({"orders": 2, "stock": 1}, {"stock": {"retention.ms": "5"}})
    stage = Stage(
        flow(), A=source, B=MemoryCluster({"A.orders": 2}, {"A.orders": {"retention.ms": "9"}})
    )
    source.hidden.add("orders")
    kept, made = stage.plan().actions
    assert kept == Keep(
        "A.orders",
        "the source's configs cannot be read: Isthmus' user needs DESCRIBE_CONFIGS "
        "on topic orders of A",
    )
    assert made.configs == {"retention.ms": "5"}
    source.hidden = set()
    stage.target.hidden.add("A.orders")
    assert stage.lines()[0] == (
        "leave A.orders unchanged: its configs cannot be read: Isthmus' user needs "
        "DESCRIBE_CONFIGS on topic A.orders of B"
    )


@pytest.mark.parametrize(
    ("creation", "brokers", "default", "reason"),
    [
        pytest.param(
            {"replication_factor": 1},
            3,
            "2",
            "with replication factor 1 every produce request would fail, because the target's "
            "brokers set min.insync.replicas = 2: set replication.factor to 2 or more, or "
            "topic.creation.min.insync.replicas to 1",
            id="below the brokers' own",
        ),
        pytest.param(
            {"replication_factor": 2, "min_insync_replicas": 3},
            3,
            "1",
            "with replication factor 2 every produce request would fail, because this file sets "
            "min.insync.replicas = 3: set replication.factor to 3 or more, or "
            "topic.creation.min.insync.replicas to 2",
            id="below the file's own",
        ),
    ],
)
def test_bl_086_a_topic_that_could_never_be_written_is_refused(creation, brokers, default, reason):
    target = MemoryCluster(brokers=brokers, defaults={"min.insync.replicas": default})
    stage = Stage(
        flow(creation=TopicCreation(**creation)), A=MemoryCluster({"orders": 1}), B=target
    )
    assert stage.plan().actions == (Refuse("A.orders", reason),)


def test_bl_086_a_topic_that_is_there_and_can_never_be_written_is_named():
    stage = one_topic({}, {"min.insync.replicas": "2"})
    assert stage.lines() == [
        (
            "leave A.orders unchanged: every produce request fails: the topic has 1 replica(s) and "
            "min.insync.replicas = 2; add replicas, or lower min.insync.replicas of the topic on B"
        )
    ]


def test_bl_092_a_topic_recreated_with_fewer_partitions_keeps_those_of_its_copy():
    stage = one_topic()
    stage.target.grow_topic("A.orders", 6)
    assert stage.lines() == [
        "leave A.orders unchanged: target has 6 partitions, source 2: partitions cannot be removed"
    ]


def test_what_may_not_be_made_is_refused_with_what_to_do():
    creation = TopicCreation(enabled=False, replication_factor=1)
    stage = Stage(
        flow(creation=creation),
        A=MemoryCluster({"orders": 2, "clicks": 2}),
        B=MemoryCluster({"A.clicks": 1}),
    )
    hand = "and topic.creation.enable = false: create it on B"
    assert stage.lines() == [
        f"refuse A.clicks: partitions are missing (A has 2, B 1), {hand}",
        f"refuse A.orders: the topic is missing, {hand}",
    ]


def test_a_caller_gets_only_the_part_that_it_asks_for():
    stage = Stage(
        flow(),
        A=MemoryCluster({"a": 1, "b": 1}, {"a": {"retention.ms": "1"}}),
        B=MemoryCluster({"A.a": 1}),
    )
    assert [each.topic for each in stage.plan(parts={PlanPart.CONFIGS}).actions] == ["A.a"]
    assert [each.topic for each in stage.plan(parts={PlanPart.TOPICS}).actions] == ["A.b"]


def test_the_overview_shows_names_partitions_modes_and_what_matched_nothing():
    named = a_flow(topics=("orders", "stock", "clickz")).model_copy(
        update={"creation": TopicCreation(replication_factor=1)}
    )
    stage = Stage(
        named,
        A=MemoryCluster(
            {"orders": 2, "stock": 1, "clicks": 1}, {"stock": {"cleanup.policy": "compact"}}
        ),
        B=MemoryCluster({"A.orders": 2}),
    )
    found = stage.plan()
    shown = overview(found, found.sources[0])
    assert [(e.topic, e.target_topic, e.partitions, e.mode, e.there) for e in shown.topics] == [
        ("orders", "A.orders", 2, Mode.APPEND, True),
        ("stock", "A.stock", 1, Mode.TRANSACTIONAL, False),
    ]
    assert shown.gap == "no topic of the source matches clickz yet; near: clicks"


def test_an_action_is_reported_to_programs_with_its_kind_and_reason():
    found = as_data(CreateTopic("t", 1, 1, {"a": "1"}, "why"))
    assert found == {
        "kind": "create_topic",
        "changes": True,
        "topic": "t",
        "partitions": 1,
        "replication_factor": 1,
        "configs": {"a": "1"},
        "reason": "why",
        "text": "create t: 1 partition, replication factor 1, a=1 (why)",
    }


values = st.dictionaries(
    st.sampled_from(["retention.ms", "cleanup.policy", "x"]), st.sampled_from("12")
)
sides = st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(1, 4), values))


@given(sides, sides, st.sampled_from(["source", "target"]))
def test_a_second_plan_is_empty(theirs, ours, defaults_from):
    def cluster(side, prefix):
        return MemoryCluster(
            {prefix + name: count for name, (count, _) in side.items()},
            {prefix + name: dict(configs) for name, (_, configs) in side.items()},
            defaults={"retention.ms": "0", "cleanup.policy": "0", "x": "0"},
        )

    stage = Stage(
        flow(configs=ConfigSync(defaults_from=defaults_from)),
        A=cluster(theirs, ""),
        B=cluster(ours, "A."),
    )
    before = dict(stage.target.counts)
    assert not any(each.failed for each in stage.apply())
    assert [each for each in stage.plan().actions if not isinstance(each, Keep)] == []
    assert all(stage.target.counts[name] >= count for name, count in before.items())


KEPT = Naming(kind="identity")


def test_names_that_meet_stop_their_topics_and_nothing_else():
    source = MemoryCluster({"orders": 1, "a.b": 1, "a_b": 1})
    target = MemoryCluster({"orders": 1}, filled={"orders"})
    found = Stage(flow(naming=KEPT), A=source, B=target).plan()
    assert [(type(each), each.topic) for each in found.actions] == [
        (Refuse, "a_b"),
        (Refuse, "orders"),
        (CreateTopic, "a.b"),
    ]
    assert [(each.kind, each.target) for each in found.conflicts] == [
        (ConflictKind.METRICS, "a_b"),
        (ConflictKind.TAKEN, "orders"),
    ]


def test_topics_that_merge_are_reported():
    stage = Stage(
        flow(naming=KEPT),
        flow("C", naming=KEPT),
        A=MemoryCluster({"orders": 1}),
        C=MemoryCluster({"orders": 3}),
    )
    found = stage.plan()
    (merge,) = found.conflicts
    assert str(merge) == "orders: orders of A and orders of C merge into this topic"
    assert [(each.topic, each.partitions) for each in found.actions] == [("orders", 3)]


def renamed(**policy: str) -> Stage:
    """Return a stage on which ``orders`` was copied as A.orders, and is now called A-orders."""
    now = flow(naming=Naming(separator="-"), policies=Policies(**policy))
    stage = Stage(
        now, A=MemoryCluster({"orders": 2, "clicks": 1}), B=MemoryCluster({"A.orders": 2})
    )
    anchors = [
        Anchor("A->B", "orders", number, "A.orders", 50, 50, records=50) for number in (0, 1)
    ]
    stage.clients.records.write(anchors_topic("A"), *anchors)
    return stage


def test_a_changed_name_is_in_the_plan_with_both_names_and_nothing_is_made_for_it():
    stage = renamed()
    refused, created = stage.lines()
    assert refused.startswith(
        "refuse A-orders: orders was copied as A.orders, and the file now names it A-orders"
    )
    assert created.startswith("create A-clicks: ")
    (source,) = stage.plan().sources
    names = {row.topic: row.target_topic for row in overview(stage.plan(), source).topics}
    assert names == {"orders": "A.orders", "clicks": "A-clicks"}
    stage.apply()
    assert "A-orders" not in stage.target.counts


def test_a_kept_name_is_planned_and_grows_as_before():
    stage = renamed(name_changed="keep")
    stage.clusters["A"].counts["orders"] = 3
    assert stage.lines()[0] == (
        "leave A.orders unchanged: orders is copied on as A.orders, although the file names it "
        "A-orders"
    )
    assert stage.lines()[2].startswith("increase A.orders to 3 partitions")


def test_an_operators_decision_is_in_the_plan_before_a_driver_follows_it():
    stage = renamed()
    decision = NameDecision("A->B", "orders", "A.orders", "A-orders", "continue")
    stage.clients.records.write(status_topic("A"), decision)
    kept, _, created = stage.lines()
    assert kept.startswith("leave A.orders unchanged: orders was copied as A.orders; new records")
    assert created.startswith("create A-orders: 2 partitions")


def test_a_changed_name_is_no_action_of_a_plan_for_configs_alone():
    assert renamed().lines(parts={PlanPart.CONFIGS}) == []


def test_a_flow_under_another_alias_is_told_in_its_plan():
    stage = Stage(
        flow("X"),
        X=MemoryCluster({"orders": 1}),
        B=MemoryCluster({"A.orders": 1, anchors_topic("A"): 1}),
    )
    former = Anchor("A->B", "orders", 0, "A.orders", 50, 50, source_topic_id="orders")
    stage.clients.records.write(anchors_topic("A"), former)
    (warning,) = stage.plan().warnings
    assert warning.startswith("X->B has no position, although A->B, which is not in this file")
    own = replace(former, flow="X->B", target_topic="X.orders")
    stage.clients.records.write(anchors_topic("X"), own)
    assert stage.plan().warnings == ()
