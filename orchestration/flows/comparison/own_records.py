"""Selects the records that a flow copied, where several flows write to one topic."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from replication.adapters.wire import connect
from replication.model import BY_HEADERS
from replication.provenance.origins import rule_of
from replication.provenance.own_offsets import OwnOffsets, appended_by, copied_by
from replication.provenance.record_headers import is_copied, origin_of
from replication.provenance.routes import Routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.adapters.topics.record_reader import Record
    from replication.model import TopicPartition
    from replication.settings.sections import Config, Flow

    Concerns = Callable[[Record], bool]

_NAME = "isthmus-compare"


class OwnRecords:
    """Selects, for one flow, the records that it copies and those that it appended.

    The records that it copies are found as the flow itself does, by producer ids or by headers;
    those that it appended always by producer ids. Both methods raise ClusterUnavailable or
    ClusterRejected.
    """

    def __init__(self, flow: Flow, routes: Routes) -> None:
        self._flow, self._routes = flow, routes
        self._loop = asyncio.new_event_loop()
        self._source = OwnOffsets(connect(flow.clients.source_consumer, _NAME))
        self._target = OwnOffsets(connect(flow.clients.target_admin, _NAME))

    @classmethod
    def for_flow(cls, flow: Flow, config: Config) -> Self | None:
        """Return the selection of a flow's own records; None: all are, or it cannot be known.

        Others write to its topics where it, or another flow, copies back or to the same target.
        """
        routes = Routes.of(config.flows, config.clusters)
        others = [each for each in config.flows if each.name != flow.name]
        shared = any(flow.target in {each.source, each.target} for each in others)
        return cls(flow, routes) if flow.name in routes.flows and shared else None

    def of_source(self, partition: TopicPartition, end: int) -> Concerns:
        """Return a predicate that is true of the records before ``end`` that the flow copies."""
        return self._loop.run_until_complete(self._of_source(partition, end))

    def of_target(self, partition: TopicPartition, end: int) -> Concerns:
        """Return a predicate that is true of the flow's own records before offset ``end``."""
        concerns = appended_by(self._flow.name)
        found = self._loop.run_until_complete(self._target.offsets(partition, end, concerns))
        return lambda record: record.offset in found

    def close(self) -> None:
        """Close all connections."""
        for each in (self._source, self._target):
            self._loop.run_until_complete(each.network.close())
        self._loop.close()

    async def _of_source(self, partition: TopicPartition, end: int) -> Concerns:
        await self._target.network.refresh([])
        text = self._routes.rule(self._flow.name, partition.topic)
        rule = rule_of(text, self._target.network.cluster_id)
        if rule is None:  # heartbeats: copies are known by their topic names
            return lambda _: True
        if rule.by == BY_HEADERS:
            return lambda record: is_copied(origin_of(record.headers), rule)
        found = await self._source.offsets(partition, end, copied_by(rule))
        return lambda record: record.offset in found
