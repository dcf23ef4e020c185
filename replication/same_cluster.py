"""One cluster under two names: a flow between them would copy its own copies for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.errors import ConfigError

if TYPE_CHECKING:
    from replication.config.model import Flow
    from replication.ports import Cluster


def refuse_same_cluster(flow: Flow, source: Cluster, target: Cluster) -> None:
    """Raise ConfigError if a flow's two ends are one cluster, whatever their addresses say.

    Raises ClusterUnavailable or ClusterRejected when one does not tell its id.
    """
    identity = source.cluster_id()
    if identity == target.cluster_id():
        raise ConfigError(
            f"{flow.source} and {flow.target} are the same cluster (id {identity}): correct the "
            f"bootstrap.servers of one, or remove {flow.name}"
        )
