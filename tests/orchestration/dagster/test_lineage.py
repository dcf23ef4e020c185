"""Lineage of clusters, flows and topics: chains, circles, merges."""

from __future__ import annotations

import dagster as dg
from support.settings.configs import a_config, a_flow

from orchestration.dagster.lineage import build_assets, flows_in_circles

MESH = [a_flow(one, two) for one in "ABC" for two in "ABC" if one != two]


def upstream(config) -> dict[str, set[str]]:
    """Return the names of each asset's dependencies, after Dagster accepted the graph."""
    found = build_assets(config)
    dg.Definitions.validate_loadable(found)
    return {
        spec.key.to_user_string(): {each.asset_key.to_user_string() for each in spec.deps}
        for spec in found.resolve_all_asset_specs()
    }


def naming(flow, *topics: str, kind: str = "prefix"):
    named = flow.naming.model_copy(update={"kind": kind})
    limits = dict.fromkeys(topics)
    return flow.model_copy(update={"lag_sla_topics": limits, "naming": named})


def test_a_chain_leads_from_cluster_to_cluster_through_flows_and_topics():
    deps = upstream(a_config(a_flow("A", "B"), a_flow("B", "C")))
    assert deps["kafka/A"] == set()
    assert deps["replication/A_to_B/stream"] == {"kafka/A"}
    assert deps["replication/A_to_B/topics"] == {"replication/A_to_B/stream"}
    assert deps["kafka/B"] == {"replication/A_to_B/topics"}
    assert deps["replication/B_to_C/stream"] == {"kafka/B"}
    assert deps["kafka/C"] == {"replication/B_to_C/topics"}


def test_flows_in_a_circle_arrive_at_a_node_of_their_own():
    deps = upstream(a_config(a_flow("A", "B"), a_flow("B", "A"), a_flow("B", "C")))
    assert deps["kafka/B"] == set()
    assert deps["kafka/B/copies"] == {"replication/A_to_B/topics"}
    assert deps["kafka/A/copies"] == {"replication/B_to_A/topics"}
    assert deps["kafka/C"] == {"replication/B_to_C/topics"}


def test_a_full_mesh_and_flows_that_name_the_same_topics_are_no_circle_in_dagster():
    flows = [naming(each, "orders", kind="identity") for each in MESH]
    assert flows_in_circles(a_config(*flows)) == {each.name for each in MESH}
    assert "kafka/A/copies" in upstream(a_config(*flows))


def test_named_topics_are_followed_through_a_chain():
    first, second = naming(a_flow("A", "B"), "orders"), naming(a_flow("B", "C"), "A.orders")
    deps = upstream(a_config(first, second))
    assert deps["kafka/A/topics/orders"] == {"kafka/A"}
    assert deps["kafka/B/topics/A.orders"] == {
        "kafka/A/topics/orders",
        "replication/A_to_B/stream",
    }
    assert deps["kafka/C/topics/B.A.orders"] == {
        "kafka/B/topics/A.orders",
        "replication/B_to_C/stream",
    }


def test_topics_that_merge_are_one_asset():
    flows = [naming(a_flow(each, "C"), "orders", kind="identity") for each in "AB"]
    deps = upstream(a_config(*flows))
    assert deps["kafka/C/topics/orders"] == {
        "kafka/A/topics/orders",
        "kafka/B/topics/orders",
        "replication/A_to_C/stream",
        "replication/B_to_C/stream",
    }
