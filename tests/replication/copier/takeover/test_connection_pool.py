"""BL-223: a unit's connections lead to the clusters that its spec names."""

from __future__ import annotations

import pytest
from support.copier.two_clusters import TwoClusters, a_spec

from replication.copier.takeover.connections import ConnectionPool
from replication.errors import WrongCluster

KNOWN = {"source_id": "id-a", "target_id": "id-b"}


@pytest.fixture
def clusters():
    made = TwoClusters()
    yield made
    made.close()


def test_each_connection_of_a_unit_is_checked_against_the_ids_of_its_spec(clusters):
    connections = ConnectionPool().take(a_spec(**KNOWN), clusters.connect)
    connections.source.verify("id-a")
    connections.target.verify("id-b")
    with pytest.raises(WrongCluster, match="source A is now the cluster with id id-b, which is B"):
        connections.source.verify("id-b")
    with pytest.raises(WrongCluster, match="target B is now the cluster with id id-a, which is A"):
        connections.target.verify("id-a")


def test_a_unit_names_the_rack_of_its_spec_also_after_another_one(clusters):
    pool = ConnectionPool()
    former = pool.take(a_spec(client_rack="r1"), clusters.connect)
    pool.give_back(a_spec(client_rack="r1"), former, well=True)
    assert former.replicas.rack_at(1.0) == "r1"
    assert pool.take(a_spec(client_rack="r2"), clusters.connect).replicas.rack_at(1.0) == "r2"


def test_connections_to_a_former_cluster_are_not_used_for_the_one_that_was_accepted(clusters):
    pool = ConnectionPool()
    spec = a_spec(**KNOWN)
    former = pool.take(spec, clusters.connect)
    pool.give_back(spec, former, well=True)
    assert pool.take(a_spec(**{**KNOWN, "source_id": "new"}), clusters.connect) is not former
    assert pool.take(spec, clusters.connect) is former
