"""BL-223: an address that leads to another cluster than before."""

from __future__ import annotations

import pytest

from replication.client.cluster_ids import FlowClusters, known_ids, require_clusters, stored_ids
from replication.errors import ConfigError, WrongCluster
from replication.state import ClusterIds, FlowStatus, ProducerEntry

KNOWN = FlowClusters("A->B", "id-a", "id-b")


def test_the_known_clusters_are_right_and_unknown_ids_take_any():
    require_clusters(KNOWN, "id-a", "id-b")
    require_clusters(FlowClusters("A->B"), "x", "y")


def test_a_source_that_is_now_the_target_is_named_and_nothing_is_offered():
    with pytest.raises(WrongCluster) as caught:
        KNOWN.verify_source("id-b")
    assert str(caught.value) == (
        "source A is now the cluster with id id-b, which is B: the flow waits until "
        "A.bootstrap.servers lead to the cluster with id id-a"
    )


@pytest.mark.parametrize(
    ("verify", "side"), [(KNOWN.verify_source, "source A"), (KNOWN.verify_target, "target B")]
)
def test_any_other_cluster_says_how_it_is_accepted(verify, side):
    with pytest.raises(WrongCluster) as caught:
        verify("new")
    assert str(caught.value).startswith(f"{side} is now the cluster with id new: ")
    assert str(caught.value).endswith(": isthmus resolve FILE accept --flow 'A->B'")


def test_a_target_that_is_now_the_source_is_named():
    with pytest.raises(WrongCluster, match="target B is now the cluster with id id-a, which is A"):
        KNOWN.verify_target("id-a")


def test_one_cluster_under_two_names_is_a_fault_of_the_file():
    with pytest.raises(ConfigError, match="A and B are the same cluster"):
        require_clusters(FlowClusters("A->B"), "x", "x")


def entry(flow: str, origin: str, at_ms: int, via: tuple[str, ...] = ()) -> ProducerEntry:
    return ProducerEntry(at_ms, flow, origin, "isthmus.A->B.0", at_ms, via=via)


def test_of_a_flow_of_an_older_release_the_registry_of_producers_knows_the_source():
    records = [
        entry("A->B", "old", 1),
        entry("A->B", "far", 3, ("far", "id-a")),  # forwarded: it came by A last
        entry("A->B", "old", 2),
        entry("C->B", "id-c", 9),
    ]
    assert stored_ids("A->B", records) == ClusterIds("A->B", "id-a")
    own = ClusterIds("A->B", "id-x", "id-y")
    assert stored_ids("A->B", [*records, FlowStatus("A->B"), own]) == own
    assert stored_ids("B->A", records) is None


@pytest.mark.parametrize(
    ("stored", "local", "reported", "target"),
    [
        pytest.param("", "", "", "", id="nobody knows"),
        pytest.param("t", "", "x", "t", id="the target's own record"),
        pytest.param("t", "l", "x", "l", id="a local file knows of a switched address"),
        pytest.param("", "l", "x", "l", id="a cluster without our record"),
        pytest.param("", "", "x", "x", id="other flows that read the target"),
    ],
)
def test_what_is_known_of_the_target(stored, local, reported, target):
    found = known_ids(
        ClusterIds("A->B", "a" if stored else "", stored), ClusterIds("A->B", "b", local), reported
    )
    assert (found.source, found.target) == ("a" if stored else "b", target)


@pytest.mark.parametrize(("at_ms", "target"), [(8, "new"), (6, "old")])
def test_an_operators_answer_counts_if_it_is_newer_than_the_file(at_ms, target):
    answer = ClusterIds("A->B", "id-a", "new", "ann@ops", at_ms)
    assert known_ids(answer, ClusterIds("A->B", "id-a", "old", at_ms=7)).target == target
