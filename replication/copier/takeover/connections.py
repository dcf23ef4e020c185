"""Connections to a flow's two clusters, pooled per process with the anchors they have read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.cluster_ids import FlowClusters
from replication.client.preferred_replicas import Replicas
from replication.client.state_topic.state_log import StateLog
from replication.copier.takeover.takeover import Takeover
from replication.provenance.anchored_producers import AnchoredProducers
from replication.provenance.producer_registry import SourceRegistry
from replication.state import PRODUCERS_TOPIC, anchors_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.client.cluster_ids import Verify
    from replication.client.fetch_session import FetchSession
    from replication.client.network import Network
    from replication.copier.spec import UnitSpec
    from replication.model import TopicPartition

    # Client properties, client id, and what is called with the cluster id of each connection.
    Connect = Callable[[Mapping[str, str], str, Verify], Network]
    _Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Connections:
    """The source and the target of a flow, and the anchors that this process has read so far."""

    source: Network
    target: Network
    takeover: Takeover
    registry: SourceRegistry  # of the producer ids that append to the source
    replicas: Replicas  # of the source
    sessions: dict[tuple[int, bool], FetchSession] = field(default_factory=dict)  # by node, tail
    checked: set[TopicPartition] = field(default_factory=set)  # whose target end was checked


def new_connections(
    spec: UnitSpec, source: Network, target: Network, replaced: dict[int, float]
) -> Connections:
    """Return the connections to both clusters of ``spec``, with no anchor read yet.

    ``replaced``: since when the process has known producer ids that others have replaced.
    """
    anchors = StateLog(target, anchors_topic(spec.source_alias))
    registry = StateLog(target, PRODUCERS_TOPIC)
    takeover = Takeover(spec.flow, target, anchors, registry, source, replaced)
    producers = SourceRegistry(source, anchored=AnchoredProducers(source))
    return Connections(source, target, takeover, producers, Replicas(spec.copying.client_rack))


@dataclass(slots=True)
class ConnectionPool:
    """The connections that a process has open. One unit's partitions of one mode use one at a time.

    A broker answers a connection in order, so two users would wait for each other's long polls.
    """

    _free: dict[_Key, list[Connections]] = field(default_factory=lambda: defaultdict(list))
    _replaced: dict[_Key, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, spec: UnitSpec, connect: Connect) -> Connections:
        """Return idle connections with what they have read, or new ones."""
        free = self._free[_key(spec)]
        if free:
            return free.pop()
        name = f"isthmus-{spec.flow}{'-txn' if spec.is_transactional else ''}"
        known = FlowClusters(spec.flow, spec.source_id, spec.target_id)
        source = connect(spec.source, name, known.verify_source)
        return self._new(spec, source, connect(spec.target, name, known.verify_target))

    def give_back(self, spec: UnitSpec, connections: Connections, *, well: bool) -> None:
        """Put ``connections`` back. Unless all is ``well``, forget what they have read."""
        if not well:
            connections = self._new(spec, connections.source, connections.target)
        self._free[_key(spec)].append(connections)

    def _new(self, spec: UnitSpec, source: Network, target: Network) -> Connections:
        """Return connections that have read nothing yet; for how long they waited is known."""
        return new_connections(spec, source, target, self._replaced[_key(spec)])

    async def close(self) -> None:
        """Close all idle connections."""
        for free in self._free.values():
            for connections in free:
                await connections.source.close()
                await connections.target.close()
        self._free.clear()


def _key(spec: UnitSpec) -> _Key:
    source, target = (tuple(sorted(each.items())) for each in (spec.source, spec.target))
    ids = spec.source_id, spec.target_id
    return spec.flow, spec.is_transactional, source, target, ids, spec.copying.client_rack
