"""Reads a flow's anchors and losses, each time from where the last read ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, cast

from replication.adapters.wire import connect
from replication.client.state_log import StateLog
from replication.model import TopicPartition
from replication.state import Anchor, Loss, anchors_topic, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.settings.sections import Flow


class _Unread(NamedTuple):
    """A record that is not decoded yet: of each key only the newest is worth that."""

    name: bytes
    content: bytes | None

    def key(self) -> bytes:
        return self.name


class AnchorReader:
    """Connects at its first read, and does nothing between reads. One thread at a time."""

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
        self._learn(self._loop.run_until_complete(self._news()))
        return dict(self._anchors), tuple(self._losses.values())

    async def _news(self) -> Iterable[_Unread]:
        if self._log is None:
            name = f"isthmus-metrics-{self._flow.name}"
            network = connect(self._flow.clients.target_producer, name)
            self._log = StateLog(network, anchors_topic(self._flow.source), read=_unread)
        await self._log.network.refresh([self._log.topic])
        found = cast("list[_Unread]", await self._log.read_on())
        return {each.name: each for each in found}.values()

    def _learn(self, news: Iterable[_Unread]) -> None:
        for each in news:
            record = parse(each.name, each.content)
            if isinstance(record, Anchor) and record.flow == self._flow.name:
                self._anchors[TopicPartition(record.topic, record.partition)] = record
            elif isinstance(record, Loss) and record.flow == self._flow.name:
                self._losses[each.name] = record


def _unread(key: bytes | None, value: bytes | None) -> _Unread | None:
    return None if key is None else _Unread(key, value)
