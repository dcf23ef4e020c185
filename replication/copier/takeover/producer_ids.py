"""Producer ids of a unit: one producer per replication path of the records that it appends.

A transactional id holds the ids of the clusters, the source's too: an alias may later name another
cluster, but records appended under the former one stay that cluster's (P3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.client.network import NotGranted
from replication.client.producer_identity import ProducerIdentity
from replication.clock import now_ms
from replication.copier.takeover.at_least_once import plain_identity
from replication.errors import ClusterRejected
from replication.model import NO_PRODUCER, NO_PRODUCER_ID, Mode
from replication.provenance.origins import LOCAL_ORIGIN, forwarding_id
from replication.state import ProducerEntry

if TYPE_CHECKING:
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections
    from replication.provenance.origins import ReplicationPath


async def producer_identity(spec: UnitSpec, connections: Connections) -> ProducerIdentity:
    """Get a new epoch of the unit's producer id, so that the unit's former owner has an older one.

    Without a transactional id if the flow is at-least-once, or if the target does not grant one
    and the flow's delivery is auto.
    """
    if spec.copying.delivery != Mode.AT_LEAST_ONCE:
        try:
            return await _named_identity(spec, connections)
        except NotGranted as problem:
            if spec.copying.delivery != "auto":
                raise ClusterRejected(
                    f"{spec.flow}: {spec.target_alias} does not grant a producer id ({problem}): "
                    "allow Isthmus' user WRITE and DESCRIBE on the TransactionalId "
                    f"isthmus.{spec.flow} (prefixed)"
                ) from problem
    return await _plain(spec, connections, LOCAL_ORIGIN)


async def forwarder(
    spec: UnitSpec, connections: Connections, path: ReplicationPath
) -> ProducerIdentity:
    """Get a new epoch of the producer for records that reached the source along ``path``."""
    if spec.copying.delivery == Mode.AT_LEAST_ONCE:
        return await _plain(spec, connections, path)
    name = forwarding_id(spec.transactional_id, path, connections.source.cluster_id)
    return ProducerIdentity(name, *await connections.target.init_producer_id(name), spec.generation)


async def _named_identity(spec: UnitSpec, connections: Connections) -> ProducerIdentity:
    name = spec.transactional_id
    producer_id, epoch = await connections.target.init_producer_id(name)
    known = connections.takeover.entries.producers.entries.get(producer_id)
    if known is not None and known.came_by != (connections.source.cluster_id,):
        name = forwarding_id(name, LOCAL_ORIGIN, connections.source.cluster_id)
        producer_id, epoch = await connections.target.init_producer_id(name)
    return ProducerIdentity(name, producer_id, epoch, spec.generation)


async def _plain(
    spec: UnitSpec, connections: Connections, path: ReplicationPath
) -> ProducerIdentity:
    """Get a producer that cannot fence. Raises ClusterRejected if others need a producer id."""
    plain = connections.takeover.plain
    me = await plain_identity(connections.target, plain.get(path, NO_PRODUCER), spec.generation)
    plain[path] = me.producer
    if me.producer_id == NO_PRODUCER_ID and spec.target_is_replicated:
        raise ClusterRejected(
            f"{spec.flow}: {spec.target_alias} grants Isthmus' user no producer id, so flows that "
            "read it could not distinguish copies from its own records and would copy them back: "
            f"grant it WRITE on the TransactionalId isthmus.{spec.flow} (prefixed), or "
            "IDEMPOTENT_WRITE on the cluster"
        )
    return me


def entry_of(
    spec: UnitSpec,
    connections: Connections,
    identity: ProducerIdentity,
    path: ReplicationPath = LOCAL_ORIGIN,
) -> ProducerEntry:
    """Return the registry entry to write before ``identity`` appends records of ``path`` (F)."""
    source_id = connections.source.cluster_id
    known = connections.registry.origins.entries.values()
    return ProducerEntry(
        identity.producer_id,
        spec.flow,
        path[0] if path else source_id,
        identity.transactional_id,
        now_ms(),
        identity.generation,
        (*path, source_id),
        next(each.alias for each in known if each.came_by == path) if path else spec.source_alias,
    )
