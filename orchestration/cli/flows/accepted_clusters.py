"""Accepts the clusters that a flow's addresses lead to now as the right ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from orchestration.cli.screen.given_file import print_line
from orchestration.flows.intents import signature
from orchestration.flows.reachability import answering_flows
from replication.client.cluster_ids import FlowClusters, require_clusters
from replication.clock import now_ms
from replication.errors import ConfigError
from replication.state import ClusterIds, status_topic

if TYPE_CHECKING:
    from orchestration.flows.observation.clients import ClusterClients
    from replication.settings.config import Config

ACCEPT: Final = "accept"


def accept_clusters(config: Config, names: list[str] | None, clusters: ClusterClients) -> None:
    """Accept the present clusters of the flows called ``names``; the driver follows in seconds.

    Raises ConfigError without a name, or where source and target are one cluster;
    ClusterUnavailable where one does not answer.
    """
    if not names:
        raise ConfigError(
            "accept needs the flow whose cluster was replaced by a new one: --flow 'A->B'"
        )
    for flow in answering_flows(config, names):
        store = clusters.store(flow)
        source, target = clusters.source(flow).cluster_id(), store.cluster_id()
        require_clusters(FlowClusters(flow.name), source, target)
        ids = ClusterIds(flow.name, source, target, signature(), now_ms())
        store.ensure_topics(flow.source)
        store.write(status_topic(flow.source), ids)
        print_line(
            f"{flow.name}: accepted source {flow.source} with id {source}, target {flow.target} "
            f"with id {target}"
        )
