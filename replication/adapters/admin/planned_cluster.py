"""A cluster client for repeated planning, which lists topics in the cheapest way."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.wire.topic_list import TopicList

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.admin import TopicInfo
    from replication.client.cluster_ids import Verify


class PlannedCluster(KafkaAdmin):
    """Implements ``client.admin.ClusterAdmin``; ``properties`` are Java client properties.

    ``name`` is the cluster's in the file: errors show it beside the address.
    """

    def __init__(
        self, properties: Mapping[str, str], verify: Verify | None = None, name: str = ""
    ) -> None:
        super().__init__(to_librdkafka(properties), verify=verify, name=name)
        self._listing = TopicList(properties, "isthmus-topics", verify, self._checked.address)
        # At the latest when the process ends; a process that lives for months makes many of these.
        self.close = weakref.finalize(self, self._listing.close)

    def topics(self, *, another_broker: bool = False) -> dict[str, TopicInfo]:
        return self._listing.topics(another_broker=another_broker)
