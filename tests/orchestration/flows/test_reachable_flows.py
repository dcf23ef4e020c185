"""Which flows of a file a command can work on while a cluster is silent."""

from __future__ import annotations

import pytest
from support.settings.configs import a_config, a_flow

from orchestration.flows import reachability
from orchestration.flows.reachability import reachable_flows
from replication.errors import ClusterUnavailable, ConfigError

CONFIG = a_config(a_flow("A", "B"), a_flow("A", "C"), a_flow("B", "C"), a_flow("C", "B"))


@pytest.fixture
def silent(monkeypatch):
    """Clusters that do not answer when they are asked."""
    found: set[str] = set()
    monkeypatch.setattr(
        reachability,
        "_silent",
        lambda clusters: {each: "refused" for each in clusters if each in found},
    )
    return found


def test_a_silent_cluster_keeps_a_command_from_its_own_flows_alone(silent):
    silent.add("C")
    flows, unreached = reachable_flows(CONFIG, None)
    assert [each.name for each in flows] == ["A->B"]
    why = "cluster C does not answer: refused"
    assert unreached == {"A->C": why, "B->C": why, "C->B": why}
    flows, unreached = reachable_flows(CONFIG, None, sources=False)
    assert [each.name for each in flows] == ["A->B", "C->B"]
    assert [*unreached] == ["A->C", "B->C"]


def test_all_silent_clusters_are_named_where_no_flow_is_left(silent):
    silent.update("BC")
    with pytest.raises(ClusterUnavailable, match="2 clusters do not answer"):
        reachable_flows(CONFIG, None)
    with pytest.raises(ClusterUnavailable, match=r"^cluster C does not answer: refused; see"):
        reachable_flows(CONFIG, ["A->C"], sources=False)


def test_an_unknown_flow_is_refused():
    with pytest.raises(ConfigError, match="D->B"):
        reachable_flows(CONFIG, ["D->B"])
