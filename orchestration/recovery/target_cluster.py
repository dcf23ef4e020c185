"""Makes sure that a target's address leads to the cluster that the flow copied to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.client.cluster_ids import FlowClusters, known_ids, stored_ids
from replication.state import ClusterIds, status_topic
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from orchestration.flows.observation.clients import ClusterClients, Processes
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow


def require_target(
    flow: Flow, config: Config, clusters: ClusterClients, processes: Processes
) -> None:
    """Raise WrongCluster if it leads to another one, as far as this host knows.

    The source is not asked: its address may have been switched to the target.
    """
    app = next(each for each in applications(config) if flow.name in each.flows)
    store, none = clusters.store(flow), ClusterIds(flow.name)
    stored = stored_ids(flow.name, store.read(status_topic(flow.source)).values())
    known = FlowClusters(flow.name)
    known.learn(known_ids(stored or none, processes.cluster_ids(app, flow)))
    known.verify_target(store.cluster_id())
