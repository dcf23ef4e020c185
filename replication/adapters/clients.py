"""The Kafka clients of a file's flows, one for each set of properties, kept for the process.

Making one costs threads, a TLS handshake and a login.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.admin.planned_cluster import PlannedCluster
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.state_store import StateStore
from replication.client.cluster_ids import FlowClusters, stored_ids
from replication.state import status_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.client.cluster_ids import Verify
    from replication.settings.flow_settings import Flow

    Properties = tuple[tuple[str, str], ...]


class KafkaClients:
    """Implements ``client.admin.Clients``.

    ``require`` is called with a cluster's name each time before a client of it is returned. It
    raises ClusterUnavailable where that cluster is known not to answer. ``known`` are the ids of
    the clusters of flows, by the flow's name: no other cluster's answers are used.
    """

    def __init__(
        self,
        require: Callable[[str], None] = lambda _: None,
        known: Mapping[str, FlowClusters] | None = None,
    ) -> None:
        self._require = require
        self._known = known or {}
        self._admins: dict[tuple[str, Properties], PlannedCluster] = {}
        self._stores: dict[Properties, StateStore] = {}

    def source(self, flow: Flow) -> PlannedCluster:
        """Return the admin client of the flow's source."""
        self._require(flow.source)
        known = self._known.get(flow.name)
        verify = None if known is None else known.verify_source
        return self._admin(flow.source, flow.clients.source_admin, verify)

    def target(self, flow: Flow) -> PlannedCluster:
        """Return the admin client of the flow's target."""
        self._require(flow.target)
        known = self._known.get(flow.name)
        verify = None if known is None else known.verify_target
        return self._admin(flow.target, flow.clients.target_admin, verify)

    def store(self, flow: Flow) -> StateStore:
        """Return the store on the flow's target."""
        self._require(flow.target)
        key = _key(flow.clients.target_admin)
        if key not in self._stores:
            client, known = to_librdkafka(flow.clients.target_admin), self._known.get(flow.name)
            self._stores[key] = StateStore(
                client,
                flow.state_replication_factor,
                verify=None if known is None else known.verify_target,
            )
        return self._stores[key]

    def _admin(
        self, alias: str, properties: Mapping[str, str], verify: Verify | None
    ) -> PlannedCluster:
        key = alias, _key(properties)
        if key not in self._admins:
            self._admins[key] = PlannedCluster(properties, verify, alias)
        return self._admins[key]


def stored_clusters(flow: Flow) -> FlowClusters:
    """Return the clusters whose ids the flow's driver has stored. Raises ClusterUnavailable."""
    store = StateStore(to_librdkafka(flow.clients.target_admin), flow.state_replication_factor)
    known = FlowClusters(flow.name)
    if found := stored_ids(flow.name, store.read(status_topic(flow.source)).values()):
        known.learn(found)
    return known


def _key(properties: Mapping[str, str]) -> Properties:
    return tuple(sorted(properties.items()))
