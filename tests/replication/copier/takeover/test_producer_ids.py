"""Which producer a unit appends with, and what the registry says of it."""

from __future__ import annotations

import asyncio

import pytest
from support.copier.two_clusters import a_spec, ungranted
from support.fakes.memory_network import MemoryCluster

from replication.client.producer_identity import ProducerIdentity
from replication.copier.takeover.connections import Connections, new_connections
from replication.copier.takeover.producer_ids import entry_of, forwarder, producer_identity
from replication.errors import ClusterRejected
from replication.model import NO_PRODUCER_ID
from replication.state import ProducerEntry

ME = ProducerIdentity("isthmus.A->B.0", 7, 1, 3)
C_ENTRY = ProducerEntry(30, "C->A", "c", "isthmus.C->A.0", via=("d", "c"), origin_alias="D")


def connected() -> Connections:
    return new_connections(a_spec(), MemoryCluster("a"), MemoryCluster("b"), {})


def test_the_registry_says_where_records_were_produced_and_which_clusters_they_passed():
    """By that no flow copies them back, whichever way they came (P2)."""
    connections = connected()
    own = entry_of(a_spec(generation=3), connections, ME)
    assert (own.producer_id, own.flow, own.transactional_id) == (7, "A->B", "isthmus.A->B.0")
    assert (own.origin, own.via, own.alias, own.generation) == ("a", ("a",), "A", 3)
    connections.registry.origins.learn([C_ENTRY])
    passed_on = entry_of(a_spec(), connections, ME, ("d", "c"))
    assert (passed_on.origin, passed_on.via, passed_on.alias) == ("d", ("d", "c", "a"), "D")


def test_a_producer_id_that_another_clusters_records_were_appended_with_is_not_used_again():
    """The meaning of a producer id never changes (P3): its owner copied from another cluster."""

    async def twice():
        connections = connected()
        first = await producer_identity(a_spec(), connections)
        connections.takeover.entries.producers.learn([entry_of(a_spec(), connections, first)])
        again = await producer_identity(a_spec(), connections)
        connections.source.cluster_id = "another"
        return first, again, await producer_identity(a_spec(), connections)

    first, again, other = asyncio.run(twice())
    assert (again.transactional_id, again.producer_id) == (first.transactional_id, 100)
    assert again.epoch == first.epoch + 1
    assert other.transactional_id == "isthmus.A->B.0~~another"
    assert other.producer_id != first.producer_id


def test_each_path_has_a_producer_of_its_own_named_after_it():
    found = asyncio.run(forwarder(a_spec(generation=4), connected(), ("d", "c")))
    assert (found.transactional_id, found.generation) == ("isthmus.A->B.0~~d~c~a", 4)
    assert found.fences


def test_where_a_flow_reads_the_target_a_producer_without_an_id_is_refused_with_what_to_allow():
    connections = connected()
    connections.target.init_producer_id = connections.target.plain_producer_id = ungranted
    plain = asyncio.run(producer_identity(a_spec(), connections))
    assert (plain.producer_id, plain.fences) == (NO_PRODUCER_ID, False)
    with pytest.raises(ClusterRejected) as refused:
        asyncio.run(producer_identity(a_spec(target_is_replicated=True), connections))
    assert str(refused.value) == (
        "A->B: B grants Isthmus' user no producer id, so flows that read it could not "
        "distinguish copies from its own records and would copy them back: grant it WRITE on the "
        "TransactionalId isthmus.A->B (prefixed), or IDEMPOTENT_WRITE on the cluster"
    )


def test_a_delivery_that_needs_a_transactional_id_is_refused_without_one():
    connections = connected()
    connections.target.init_producer_id = ungranted
    with pytest.raises(ClusterRejected, match=r"A->B: B does not grant a producer id \(error 53\)"):
        asyncio.run(producer_identity(a_spec(delivery="append"), connections))
