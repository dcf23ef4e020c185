"""Says why a cluster tells no end of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from replication.client.admin import Absence
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.admin import TopicInfo
    from replication.errors import ReplicationError
    from replication.model import TopicPartition


class ClusterTopics(Protocol):
    """What a cluster says of its topics; see ``adapters.admin.kafka_admin``."""

    def look_up(self, topics: Iterable[str]) -> Mapping[str, TopicInfo | Absence]:
        """Return what the cluster says of each topic when it is asked by name."""


def unknown_end(cluster: ClusterTopics, where: TopicPartition, alias: str) -> ReplicationError:
    """Return why a cluster, called ``alias`` in messages, tells no end of a partition.

    ClusterRejected where our user has to be granted a right; else ClusterUnavailable: its leader
    may come back, and a topic that is gone is not asked for again.
    """
    found = cluster.look_up([where.topic])[where.topic]
    if found is Absence.DENIED:
        return ClusterRejected(
            f"Isthmus' user may not describe {where.topic} on {alias}: grant it DESCRIBE and READ "
            "on the topic"
        )
    if found is Absence.DELETED:
        return ClusterUnavailable(f"{where.topic} is not on {alias} any more")
    return ClusterUnavailable(f"{where} has no leader on {alias}: start its brokers")
