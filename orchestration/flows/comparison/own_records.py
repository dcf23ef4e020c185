"""Selects the records that a flow copied, where several flows write to one topic."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.state_store import StateStore
from replication.adapters.wire import connect
from replication.model import BY_HEADERS
from replication.provenance.origins import carried_over, rule_of
from replication.provenance.own_offsets import OwnOffsets, appended_by, copied_by
from replication.provenance.record_headers import is_copied, origin_of
from replication.provenance.routes import Routes
from replication.state import PRODUCERS_TOPIC, ProducerEntry
from replication.state.backfill_names import BackfillNames, is_backfill

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.adapters.topics.record_reader import ConsumedRecord
    from replication.model import TopicPartition
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

    Concerns = Callable[[ConsumedRecord], bool]

_NAME = "isthmus-compare"


class FlowRecordFilter:
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

        Others write to its topics where it, or another flow, copies back or to the same target, and
        where a backfill copied their history.
        """
        routes = Routes.of(config.flows, config.clusters)
        others = [each for each in config.flows if each.name != flow.name]
        shared = any(flow.target in {each.source, each.target} for each in others)
        shares_topics = (flow.name in routes.flows and shared) or _has_backfill(flow)
        return cls(flow, routes) if shares_topics else None

    def of_source(self, partition: TopicPartition, end: int, origins: str = "") -> Concerns:
        """Return a predicate that is true of the records before ``end`` that the flow copies.

        ``origins``: the rule in the partition's anchor, if it has one.
        """
        return self._loop.run_until_complete(self._of_source(partition, end, origins))

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

    async def _of_source(self, partition: TopicPartition, end: int, origins: str) -> Concerns:
        await self._target.network.refresh([])
        text = carried_over(self._routes.rule(self._flow.name, partition.topic), origins)
        rule = rule_of(text, self._target.network.cluster_id)
        if rule is None:  # heartbeats: copies are known by their topic names
            return lambda _: True
        if rule.by == BY_HEADERS:
            return lambda record: is_copied(origin_of(record.headers), rule)
        found = await self._source.offsets(partition, end, copied_by(rule))
        return lambda record: record.offset in found


def _has_backfill(flow: Flow) -> bool:
    """Say whether the flow is a backfill, or one appended to its target. Raises ClusterUnavailable.

    The registry says so before the first append (F).
    """
    if is_backfill(flow.name):
        return True
    both = BackfillNames(flow.source, flow.target), BackfillNames.of_files(flow.source, flow.target)
    names = {each.flow for each in both}
    store = StateStore(to_librdkafka(flow.clients.target_admin), flow.state_replication_factor)
    try:
        found = store.read(PRODUCERS_TOPIC).values()
        return any(each.flow in names for each in found if isinstance(each, ProducerEntry))
    finally:
        store.close()
