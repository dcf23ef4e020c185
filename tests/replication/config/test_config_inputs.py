"""The files that operators have must work as they are."""

from pathlib import Path

import pytest

from replication.config.file.findings import Severity
from replication.config.load import load_config
from replication.naming.policy import policy_for, would_cycle
from replication.naming.selection import TopicSelector

INPUTS = Path(__file__).parents[2] / "inputs"


def load(name):
    return load_config(INPUTS / f"{name}.properties")


def names(config):
    return [flow.name for flow in config.flows]


def test_active_active_has_two_flows_with_prefixes_and_no_loop():
    config = load("active-active").config
    assert names(config) == ["DC1->DC2", "DC2->DC1"]
    for flow in config.flows:
        policy = policy_for(flow, config.clusters)
        assert policy.remote_topic(flow.source, "t") == f"{flow.source}.t"
        assert would_cycle(policy, f"{flow.target}.t", flow.target)
        selector = TopicSelector.for_flow(flow, config.clusters)
        assert selector.selected(["t", f"{flow.target}.t", f"{flow.source}.t"]) == ("t",)
        assert flow.creation.replication_factor == 1


def test_merge_minimal_flows_from_every_listed_cluster_into_the_unlisted_one():
    config = load("merge-minimal").config
    assert names(config) == ["source1->target", "source2->target", "source3->target"]
    for flow in config.flows:
        assert flow.selection.topics == flow.selection.groups == (".*",)
        assert policy_for(flow, config.clusters).remote_topic(flow.source, "t") == "t"


def test_merge_full_has_its_settings_and_a_warning_for_each_missing_certificate():
    loaded = load("merge-full")
    assert names(loaded.config) == ["dc1->target", "dc2->target", "dc3->target"]
    flow = loaded.config.flows[0]
    assert flow.selection.topics == ("orders", "customers", "products")
    assert flow.selection.topics_exclude == ("__.*",)
    assert flow.creation.configs_strategy == "INTERSECTION"
    assert flow.creation.default_partitions == 12
    assert flow.creation.replication_factor == flow.creation.min_insync_replicas == 1
    assert flow.state_replication_factor == 1
    assert flow.clients.source_consumer["sasl.mechanism"] == "SCRAM-SHA-512"
    assert 'username="mirror-target"' in flow.clients.target_producer["sasl.jaas.config"]
    missing = [each for each in loaded.findings if "does not exist" in each.message]
    assert [each.line for each in missing] == [7, 13, 19, 25]


def test_merge_full_says_which_settings_have_no_effect():
    findings = load("merge-full").findings
    idle = {each.key for each in findings if each.message.startswith("has no effect")}
    assert {"producer.linger.ms", "producer.acks", "max.poll.records", "num.stream.threads"} <= idle


MERGED = (
    "clusters = dc1, dc2, dc3, target; dc1->target.enabled = true; dc2->target.enabled = true; "
    "dc3->target.enabled = true"
)


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        (21, MERGED),
        (27, "orders,customers,products"),
        (32, "sync.topic.configs.interval.seconds = 300"),
        (46, "2147483647"),
    ],
)
def test_each_liberty_of_merge_full_has_a_warning_with_mm2s_way(line, suggestion):
    here = [each for each in load("merge-full").findings if each.line == line]
    assert suggestion in [each.suggestion for each in here if each.severity is Severity.WARNING]


def test_rename_names_the_copies_of_one_source_and_keeps_the_others():
    config = load("rename").config
    first, second = config.flows
    assert names(config) == ["source1->target", "source2->target"]
    assert policy_for(first, config.clusters).remote_topic("source1", "t") == "source1.t"
    assert policy_for(second, config.clusters).remote_topic("source2", "t") == "t"


@pytest.mark.parametrize("name", ["active-active", "merge-minimal", "merge-full", "rename"])
def test_no_secret_is_in_what_is_shown(name):
    loaded = load(name)
    displayed = " ".join([*map(str, loaded.findings), *map(str, loaded.origins.values())])
    assert "-password" not in displayed
