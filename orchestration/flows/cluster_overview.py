"""What each cluster says of itself: version, brokers, controller, clock. All are asked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.flows.observation.time_limit import in_time
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.cluster_facts import ClusterFacts
    from replication.settings.config import Cluster

LIMIT_S = 12.0


def cluster_overviews(clusters: Sequence[Cluster]) -> list[ClusterFacts | str]:
    """Return the facts of each cluster, or why it did not answer."""
    found = in_time(_overview, clusters, LIMIT_S)
    return [f"no answer within {LIMIT_S:.0f} s" if each is None else each for each in found]


def _overview(cluster: Cluster) -> ClusterFacts | str:
    from replication.adapters.probes.cluster_probe import ClusterProbe  # noqa: PLC0415 - 0.2 s, on first use

    try:
        with ClusterProbe(cluster.client) as probe:
            return probe.overview()
    except ReplicationError as error:
        return str(error)
