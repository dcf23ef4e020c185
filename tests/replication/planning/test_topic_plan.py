"""Which topics a flow creates on its target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.client.admin import TopicInfo
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.planning.acl_sync import Skip
from replication.planning.apply import ActionOutcome, apply_actions
from replication.planning.explain import explain_action
from replication.planning.topic_configs import ConfigChange
from replication.planning.topic_plan import (
    AlterConfigs,
    CreateTopic,
    DesiredTopic,
    GrowTopic,
    Keep,
    Refuse,
    TargetTopics,
    plan_topics,
)

NEW = "the source has it and the target does not"


def plan(desired: DesiredTopic, *existing: TopicInfo, brokers: int = 3) -> tuple:
    return plan_topics([desired], TargetTopics({each.name: each for each in existing}, brokers))


def desired(partitions: int = 6, factor: int = 3) -> DesiredTopic:
    return DesiredTopic("us.orders", partitions, factor)


def existing(partitions: int) -> TopicInfo:
    return TopicInfo("us.orders", "", partitions)


class Target:
    """Topics in memory; refuses the names in ``refused``, does not answer for those in ``down``."""

    def __init__(self, refused: str = "", down: str = "") -> None:
        self.topics: dict[str, TopicInfo] = {}
        self._refused, self._down = refused, down

    def would_create(self, name, partitions, replication_factor, configs):
        if name == self._refused:
            raise ClusterRejected("not authorized")

    def create_topic(self, name, partitions, replication_factor, configs):
        if name == self._refused:
            raise ClusterRejected(f"creating topic {name}: not authorized")
        if name == self._down:
            raise ClusterUnavailable("no answer")
        self.topics[name] = TopicInfo(name, "", partitions)

    def grow_topic(self, name, total):
        assert total > self.topics[name].partitions
        self.topics[name] = TopicInfo(name, "", total)


def test_a_topic_that_the_target_lacks_is_created_like_its_source():
    configs = {"retention.ms": "1000"}
    assert plan(DesiredTopic("us.orders", 6, 3, configs)) == (
        CreateTopic("us.orders", 6, 3, configs, NEW),
    )


def test_a_topic_that_matches_needs_nothing():
    assert plan(desired(6), existing(6)) == ()


def test_a_topic_that_grew_at_the_source_grows():
    assert plan(desired(6), existing(2)) == (
        GrowTopic("us.orders", 6, "the source has 6, the target 2"),
    )


def test_a_target_with_more_partitions_is_kept_and_reported():
    """BL-047."""
    assert plan(desired(6), existing(8)) == (
        Keep("us.orders", "target has 8 partitions, source 6: partitions cannot be removed"),
    )


@pytest.mark.parametrize(
    ("factor", "reason"),
    [
        pytest.param(
            3,
            "replication factor 3 needs 3 brokers, the target has 2: "
            "set replication.factor lower or add brokers",
            id="too few brokers",
        ),
        pytest.param(
            0,
            "replication factor 0 is not possible: set replication.factor to 1 or more, "
            "or to -1 for the broker's default",
            id="zero",
        ),
    ],
)
def test_an_impossible_replication_factor_is_refused(factor, reason):
    assert plan(desired(factor=factor), brokers=2) == (Refuse("us.orders", reason),)


def test_the_brokers_default_replication_factor_is_left_to_the_broker():
    assert plan(desired(factor=-1), brokers=1) == (CreateTopic("us.orders", 6, -1, {}, NEW),)


def test_a_topic_that_exists_does_not_ask_for_more_brokers():
    assert plan(desired(factor=3), existing(6), brokers=1) == ()


def test_topics_that_only_the_target_has_are_kept():
    assert plan_topics([], TargetTopics({"us.orders": existing(6)}, 1)) == ()


names = st.sampled_from(["a", "b", "c"])
topics_desired = st.lists(
    st.builds(DesiredTopic, names, st.integers(1, 9), st.just(1)), unique_by=lambda each: each.name
)


@given(topics_desired, st.dictionaries(names, st.integers(1, 9)))
def test_a_plan_that_was_applied_leaves_no_more_to_apply(topics_desired, counts):
    target = Target()
    target.topics = {name: TopicInfo(name, "", count) for name, count in counts.items()}
    list(apply_actions(plan_topics(topics_desired, TargetTopics(target.topics, 1)), target))
    again = plan_topics(topics_desired, TargetTopics(target.topics, 1))
    assert all(isinstance(each, Keep) for each in again)
    assert all(target.topics[each.name].partitions >= each.partitions for each in topics_desired)


def test_an_action_that_is_rejected_does_not_hold_up_the_others():
    target = Target(refused="a")
    actions = [CreateTopic("a", 1, 1, {}), Refuse("b", "because"), CreateTopic("c", 1, 1, {})]
    assert list(apply_actions(actions, target)) == [
        ActionOutcome(actions[0], "creating topic a: not authorized"),
        ActionOutcome(actions[1], "because"),
        ActionOutcome(actions[2], None),
    ]
    assert list(target.topics) == ["c"]


@pytest.mark.parametrize("kept", [Keep("a", "fewer"), Skip("ACLs", "no authorizer")])
def test_what_is_left_alone_on_purpose_is_a_skip_without_a_problem(kept):
    (outcome,) = apply_actions([kept], Target())
    assert (outcome.result, outcome.problem) == ("skipped", None)


def test_each_outcome_has_one_word():
    actions = [CreateTopic("a", 1, 1, {}), Refuse("b", "because"), CreateTopic("c", 1, 1, {})]
    found = [each.result for each in apply_actions(actions, Target(refused="a"))]
    assert found == ["failed", "failed", "done"]


def test_a_cluster_that_does_not_answer_ends_the_plan():
    target = Target(down="a")
    with pytest.raises(ClusterUnavailable):
        list(apply_actions([CreateTopic("a", 1, 1, {}), CreateTopic("b", 1, 1, {})], target))
    assert target.topics == {}


def test_a_plan_reads_as_a_list_of_sentences():
    actions = [
        CreateTopic("a", 1, 3, {"retention.ms": "1"}),
        CreateTopic("b", 4, -1, {}),
        GrowTopic("c", 6),
        AlterConfigs(
            "c", (ConfigChange("a.b", None, "1", "why"), ConfigChange("c.d", "2", None, "so"))
        ),
        Keep("d", "why"),
        Refuse("e", "why not"),
    ]
    assert [explain_action(each) for each in actions] == [
        "create a: 1 partition, replication factor 3, retention.ms=1 (the topic is missing)",
        "create b: 4 partitions, the broker's default replication factor (the topic is missing)",
        "increase c to 6 partitions (the source has more partitions)",
        "alter c: a.b: not set -> 1, why; c.d: unset (was 2), so",
        "leave d unchanged: why",
        "refuse e: why not",
    ]
