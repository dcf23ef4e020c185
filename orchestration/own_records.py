"""What of a topic is a flow's own where several write into topics of the same name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from replication.adapters.wire import connect
from replication.copier.births import Births, appended_by, copied_by
from replication.provenance import BY_ID, rule_of
from replication.routes import Routes

if TYPE_CHECKING:
    from replication.config.model import Config, Flow
    from replication.copier.births import Offsets
    from replication.model import TopicPartition

_NAME = "isthmus-compare"


class OwnRecords:
    """Tells, for one flow, which offsets it copies and which it appended.

    Both methods raise ClusterUnavailable or ClusterRejected.
    """

    def __init__(self, flow: Flow, routes: Routes) -> None:
        self._flow, self._routes = flow, routes
        self._loop = asyncio.new_event_loop()
        self._source = Births(connect(flow.clients.source_consumer, _NAME))
        self._target = Births(connect(flow.clients.target_admin, _NAME))

    @classmethod
    def for_flow(cls, flow: Flow, config: Config) -> Self | None:
        """Return what tells a flow's own records; None: all are, or producer ids do not tell.

        Others write into its topics where it, or another flow, copies back or to the same target.
        """
        routes = Routes.of(config.flows, config.clusters)
        others = [each for each in config.flows if each.name != flow.name]
        shared = any(flow.target in {each.source, each.target} for each in others)
        by_id = flow.name in routes.flows and flow.cycle_prevention == BY_ID
        return cls(flow, routes) if by_id and shared else None

    def of_source(self, partition: TopicPartition, end: int) -> Offsets:
        """Return the offsets before ``end`` that the flow copies."""
        return self._loop.run_until_complete(self._of_source(partition, end))

    def of_target(self, partition: TopicPartition, end: int) -> Offsets:
        """Return the offsets before ``end`` that the flow appended."""
        concerns = appended_by(self._flow.name)
        return self._loop.run_until_complete(self._target.offsets(partition, end, concerns))

    def close(self) -> None:
        """Close all connections."""
        for each in (self._source, self._target):
            self._loop.run_until_complete(each.network.close())
        self._loop.close()

    async def _of_source(self, partition: TopicPartition, end: int) -> Offsets:
        await self._target.network.refresh([])
        text = self._routes.rule(self._flow.name, partition.topic)
        rule = rule_of(text, self._target.network.cluster_id)
        concerns = copied_by(rule) if rule else lambda _: True  # heartbeats: names tell copies
        return await self._source.offsets(partition, end, concerns)
