"""A flow's anchors and losses, read on from where the last look ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.adapters.wire import connect
from replication.copier.logs import StateLog
from replication.model import TopicPartition
from replication.state import Anchor, Loss, anchors_topic

if TYPE_CHECKING:
    from replication.config.model import Flow


class AnchorReader:
    """Connects at its first look, and does nothing between looks. One thread at a time."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._anchors: dict[TopicPartition, Anchor] = {}
        self._losses: dict[bytes, Loss] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._log: StateLog | None = None

    def look(self) -> tuple[dict[TopicPartition, Anchor], tuple[Loss, ...]]:
        """Return what is known by now. Raises ClusterUnavailable or ClusterRejected."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._look())
        return dict(self._anchors), tuple(self._losses.values())

    async def _look(self) -> None:
        if self._log is None:
            network = connect(
                self._flow.clients.target_producer, f"isthmus-metrics-{self._flow.name}"
            )
            self._log = StateLog(network, anchors_topic(self._flow.source))
        await self._log.network.refresh([self._log.topic])
        for each in await self._log.read_on():
            if isinstance(each, Anchor) and each.flow == self._flow.name:
                self._anchors[TopicPartition(each.topic, each.partition)] = each
            elif isinstance(each, Loss) and each.flow == self._flow.name:
                self._losses[each.key()] = each
