import pytest

from replication.naming.selection import SelectionVerdict, TopicSelector, group_filter
from replication.settings.flow_settings import Flow, FlowClients
from replication.settings.naming_settings import Naming, Selection

CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})


def selector(*topics, exclude=None, kind="prefix", aliases=("A", "B")):
    chosen = {"topics": topics or (".*",)}
    if exclude is not None:
        chosen["topics_exclude"] = exclude
    flow = Flow(source="A", target="B", clients=CLIENTS, selection=Selection(**chosen),
                naming=Naming(kind=kind))  # fmt: skip
    return TopicSelector.for_flow(flow, aliases)


@pytest.mark.parametrize("topics", [("dev|mydev",), ("dev", "mydev")])
def test_bl_019_patterns_match_whole_names(topics):
    names = ["dev", "dev-dlq", "mydev"]
    assert selector("dev").selected(names) == ("dev",)
    assert selector(*topics).selected(names) == ("dev", "mydev")


def test_bl_021_names_that_only_look_internal_are_copied_when_not_excluded():
    names = ["billing.internal", "x-internal", "y.replica"]
    assert selector().selected(names) == ()
    assert selector(exclude=()).selected(names) == tuple(names)


def test_bl_021_a_business_topic_that_looks_internal_is_reported_to_be_copied():
    assert selector(exclude=()).judge("billing.internal").reason == (
        "matches '.*' of topics, although MirrorMaker 2 treats the name as internal"
    )


def test_bl_021_what_a_name_rule_keeps_back_is_listed_with_the_rule():
    (judged,) = selector().passed_over(["orders", "billing.internal"])
    assert judged.verdict is SelectionVerdict.EXCLUDED
    assert judged.reason == (
        r"matched but not replicated: internal by name (excluded by '.*[\-\.]internal' of "
        "topics.exclude, a default)"
    )


def test_bl_022_listed_topics_with_underscores_are_reported_and_the_others_flow():
    chosen = selector("__x-config", "__x-offsets", "orders")
    names = ["__x-config", "__x-offsets", "orders", "other"]
    assert chosen.selected(names) == ("orders",)
    assert [each.name for each in chosen.passed_over(names)] == ["__x-config", "__x-offsets"]
    assert "internal by name" in chosen.judge("__x-config").reason


def test_an_exclusion_of_the_operators_own_is_named():
    chosen = selector(exclude=("tmp-.*",))
    assert chosen.judge("tmp-1").reason == "excluded by 'tmp-.*' of topics.exclude"
    assert chosen.selected(["tmp-1", "t"]) == ("t",)


@pytest.mark.parametrize(
    "topic",
    [
        "__consumer_offsets",
        "__transaction_state",
        "mm2-offset-syncs.B.internal",
        "mm2-offsets.A.internal",
        "A.checkpoints.internal",
        "isthmus-anchors.A.internal",
    ],
)
def test_own_topics_of_brokers_and_replicators_are_never_copied(topic):
    judged = selector(exclude=()).judge(topic)
    assert judged.verdict is SelectionVerdict.INTERNAL


def test_bl_034_a_topic_that_looks_as_if_it_came_from_the_target_is_listed():
    (judged,) = selector().passed_over(["sales", "B.sales"])
    assert (judged.verdict, judged.reason) == (
        SelectionVerdict.CYCLE,
        "comes from B: copying it would create a replication cycle",
    )


def test_bl_027_a_topic_that_has_been_on_the_source_before_is_not_copied_again():
    assert selector().judge("A.t1").verdict is SelectionVerdict.CYCLE
    assert selector().selected(["A.t1", "C.t1", "t1"]) == ("C.t1", "t1")


def test_names_that_are_kept_know_no_cycle():
    assert selector(kind="identity").selected(["B.sales", "A.x"]) == ("A.x", "B.sales")


def test_heartbeats_are_copied_whatever_the_list_says():
    names = ["heartbeats", "B.heartbeats", "C.heartbeats", "orders"]
    assert selector("orders", aliases=("A", "B", "C")).selected(names) == (
        "C.heartbeats",
        "heartbeats",
        "orders",
    )


def test_bl_026_groups_of_tools_are_excluded_by_a_rule_that_is_named():
    groups = group_filter(Selection())
    assert groups.judge("app1").selected
    assert groups.judge("console-consumer-123").reason == (
        "excluded by 'console-consumer-.*' of groups.exclude, a default"
    )
    assert not groups.judge("connect-x").selected
