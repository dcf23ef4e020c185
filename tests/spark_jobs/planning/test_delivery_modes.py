"""The delivery mode of a topic, and the remarks on it."""

from __future__ import annotations

import pytest
from support.fakes.memory_admin import MemoryCluster

from replication.client.admin import ConfigValue, SetBy
from replication.errors import ClusterUnavailable
from replication.model import Mode, PartitionPlan, TopicPartition
from replication.planning.topic_configs import mode_for
from spark_jobs.planning import delivery_modes
from spark_jobs.planning.delivery_modes import (
    DeliveryModes,
    append_time_notice,
    at_least_once_notice,
    notice,
)


class Configs:
    """A cluster that only knows its topics' configs; ``hides`` those of some."""

    def __init__(self, *hides: str, **policies: str) -> None:
        self.policies = policies
        self.hides = hides
        self.asked = 0

    def topic_settings(self, topics):
        self.asked += 1
        return {each: {} if each in self.hides else self._of(each) for each in topics}

    def _of(self, topic):
        policy = self.policies.get(topic, "delete")
        return {"cleanup.policy": ConfigValue(policy, SetBy.BROKERS)}


@pytest.mark.parametrize("policy", ["compact", "compact,delete", "delete,compact"])
@pytest.mark.parametrize("end", ["theirs", "ours"])
def test_a_topic_that_is_compacted_at_either_end_is_transactional(policy, end):
    assert mode_for(**{"theirs": "", "ours": "", end: policy}) == Mode.TRANSACTIONAL


@pytest.mark.parametrize("policy", ["", "delete"])
def test_any_other_topic_is_appended_to(policy):
    assert mode_for(policy, policy) == Mode.APPEND


def test_bl_083_a_topic_whose_configs_are_hidden_may_be_compacted():
    pairs, delivery_modes = [("a", "A.a"), ("b", "A.b")], DeliveryModes()
    assert delivery_modes.of(pairs, Configs("b"), Configs()) == {
        ("a", "A.a"): Mode.APPEND,
        ("b", "A.b"): Mode.TRANSACTIONAL,
    }
    assert delivery_modes.unseen == (
        "configs cannot be read: Isthmus' user needs DESCRIBE_CONFIGS on topic b of the source; "
        "they may be compacted, so they are copied in transactions"
    )


def test_configs_are_read_for_a_new_topic_and_now_and_then(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(delivery_modes.time, "monotonic", lambda: now[0])
    source, target, known = Configs(), Configs(), DeliveryModes()
    for _ in range(3):
        known.of([("a", "A.a")], source, target)
    assert source.asked == 1
    known.of([("a", "A.a"), ("b", "A.b")], source, target)
    assert source.asked == 2
    target.policies["A.a"] = "compact"  # it becomes compacted later
    now[0] += 31
    found = known.of([("a", "A.a"), ("b", "A.b")], source, target)
    assert found == {("a", "A.a"): Mode.TRANSACTIONAL, ("b", "A.b"): Mode.APPEND}


def test_the_operator_may_choose_for_all_topics():
    source = Configs(a="compact")
    found = DeliveryModes("append").of([("a", "A.a")], source, source)
    assert found == {("a", "A.a"): "append"}


@pytest.mark.parametrize(
    "modes",
    [
        DeliveryModes("append"),
        DeliveryModes("transactional"),
        DeliveryModes(missing_guarantees=lambda: "fencing"),
    ],
)
def test_bl_043_the_targets_own_time_is_reported_however_a_topic_is_copied(modes):
    source, target = MemoryCluster({"a": 1}), MemoryCluster({"A.a": 1})
    target.configs["A.a"] = {"message.timestamp.type": "LogAppendTime"}
    modes.of([("a", "A.a")], source, target)
    assert modes.retimed == ("A.a",)


def test_configs_that_cannot_be_read_are_no_matter_where_the_operator_has_chosen():
    class Silent(Configs):
        def topic_settings(self, topics):
            raise ClusterUnavailable("reading topic configs: no response in time")

    pairs = [("a", "A.a")]
    assert DeliveryModes("append").of(pairs, Configs(), Silent()) == {("a", "A.a"): "append"}
    with pytest.raises(ClusterUnavailable):
        DeliveryModes().of(pairs, Configs(), Silent())


def test_configs_that_cannot_be_read_for_a_remark_are_not_asked_for_by_each_plan(monkeypatch):
    now, asked = [100.0], []

    class Silent(Configs):
        def topic_settings(self, topics):
            asked.append(topics)
            raise ClusterUnavailable("reading topic configs: no response in time")

    monkeypatch.setattr(delivery_modes.time, "monotonic", lambda: now[0])
    modes = DeliveryModes("append")
    for _ in range(3):
        modes.of([("a", "A.a")], Silent(), Silent())
    assert len(asked) == 1
    now[0] += 31
    modes.of([("a", "A.a")], Silent(), Silent())
    assert len(asked) == 2


def test_configs_that_are_hidden_are_no_matter_where_the_operator_has_chosen():
    modes = DeliveryModes("append")
    modes.of([("a", "A.a")], Configs("a"), Configs())
    assert modes.unseen == ""


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        pytest.param(
            "CreateTime", "LogAppendTime", "records of A.a get the target's append time", id="ours"
        ),
        pytest.param("LogAppendTime", "LogAppendTime", "", id="both"),
        pytest.param("LogAppendTime", "CreateTime", "", id="theirs"),
        pytest.param("CreateTime", "CreateTime", "", id="neither"),
    ],
)
def test_bl_043_that_the_target_puts_its_own_time_on_records_is_reported(theirs, ours, expected):
    kind = "message.timestamp.type"
    source, target = MemoryCluster({"a": 1}), MemoryCluster({"A.a": 1})
    source.configs["a"], target.configs["A.a"] = {kind: theirs}, {kind: ours}
    known = DeliveryModes()
    known.of([("a", "A.a")], source, target)
    message = append_time_notice(known.retimed)
    assert message.startswith(expected)
    assert bool(message) is bool(expected)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, ""), (1, "1 partition uses transactions"), (2, "2 partitions use tran")],
)
def test_what_is_transactional_is_counted_for_people(count, expected):
    plans = [PartitionPlan(TopicPartition("a", n), TopicPartition("a", n)) for n in range(2)]
    plans += [
        PartitionPlan(TopicPartition("c", n), TopicPartition("c", n), mode=Mode.TRANSACTIONAL)
        for n in range(count)
    ]
    assert notice(plans).startswith(expected)
    assert bool(notice(plans)) is bool(count)


def test_what_is_copied_at_least_once_says_which_rights_would_change_that():
    message = at_least_once_notice(2, "A->B", configured=False)
    assert message.startswith("2 partitions at least once: the target does not grant")
    assert "isthmus.A->B" in message
    assert (
        at_least_once_notice(1, "A->B", configured=True)
        == "1 partition at least once: set by copy.delivery"
    )
    assert at_least_once_notice(0, "A->B", configured=False) == ""
