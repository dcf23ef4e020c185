"""A cluster client for repeated planning, which lists topics in the cheapest way."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.wire.topic_listing import TopicListing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.admin import TopicInfo
    from replication.client.cluster_ids import Verify


class PlannedCluster(KafkaAdmin):
    """Implements ``client.admin.Cluster``; ``properties`` are Java client properties."""

    def __init__(self, properties: Mapping[str, str], verify: Verify | None = None) -> None:
        super().__init__(to_librdkafka(properties), verify=verify)
        self._listing = TopicListing(properties, "isthmus-topics", verify)
        atexit.register(self.close)

    def topics(self, *, another_broker: bool = False) -> dict[str, TopicInfo]:
        return self._listing.topics(another_broker=another_broker)

    def close(self) -> None:
        """Close the connection for listings."""
        self._listing.close()
