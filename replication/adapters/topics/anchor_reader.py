"""Reads a flow's anchors, losses and groups, each time from where the last read ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, cast

from replication.adapters.wire import connect
from replication.client.state_topic.state_log import StateLog
from replication.model import TopicPartition
from replication.state import (
    Anchor,
    GroupPositions,
    Loss,
    Verification,
    anchors_topic,
    is_of,
    offsets_topic,
    parse,
)
from replication.supervision.recovery_point import selected_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.cluster_ids import Verify
    from replication.settings.flow_settings import Flow


class _Unread(NamedTuple):
    """A record that is not decoded yet: of each key only the newest is worth that."""

    name: bytes
    content: bytes | None

    def key(self) -> bytes:
        return self.name


class CopyState(NamedTuple):
    """What the target holds of a flow; ``groups``: stored offsets of those that are selected.

    ``verification``: the last one of all its topics.
    """

    anchors: Mapping[TopicPartition, Anchor]
    losses: tuple[Loss, ...] = ()
    groups: tuple[GroupPositions, ...] = ()
    verification: Verification | None = None


class AnchorReader:
    """Connects at its first read, and does nothing between reads. One thread at a time.

    ``verify`` raises WrongCluster for the id of another cluster: no connection to it is used.
    """

    def __init__(self, flow: Flow, verify: Verify | None = None) -> None:
        self._flow = flow
        self._verify = verify
        self._anchors: dict[TopicPartition, Anchor] = {}
        self._losses: dict[bytes, Loss] = {}
        self._groups: dict[bytes, GroupPositions] = {}
        self._verification: Verification | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._logs: tuple[StateLog, ...] = ()

    def look(self) -> CopyState:
        """Return what is known by now. Raises ClusterUnavailable or ClusterRejected."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._read_on())
        groups = selected_groups(self._groups.values(), self._flow.selection)
        losses = tuple(self._losses.values())
        return CopyState(dict(self._anchors), losses, groups, self._verification)

    async def _read_on(self) -> None:
        """Learn what is new of each topic before the next is read: that may fail."""
        if not self._logs:
            self._logs = self._opened()
        anchors, *offsets = self._logs
        network = anchors.network
        await network.refresh([each.topic for each in self._logs])
        there = [each for each in offsets if network.topic_id(each.topic) is not None]
        for each in (anchors, *there):
            found = cast("list[_Unread]", await each.read_on())
            self._learn({record.name: record for record in found}.values())

    def _opened(self) -> tuple[StateLog, ...]:
        """Return the log of the anchors, and where groups are synced that of their offsets."""
        name = f"isthmus-metrics-{self._flow.name}"
        network = connect(self._flow.clients.target_producer, name, self._verify)
        anchors = StateLog(network, anchors_topic(self._flow.source), read=_unread)
        if not self._flow.groups.sync:
            return (anchors,)
        return anchors, StateLog(network, offsets_topic(self._flow.source), read=_unread_group)

    def _learn(self, news: Iterable[_Unread]) -> None:
        for each in news:
            record = parse(each.name, each.content)
            if isinstance(record, Anchor) and record.flow == self._flow.name:
                self._anchors[TopicPartition(record.topic, record.partition)] = record
            elif isinstance(record, Loss) and record.flow == self._flow.name:
                self._losses[each.name] = record
            elif isinstance(record, GroupPositions) and record.flow == self._flow.name:
                self._groups[each.name] = record
            elif isinstance(record, Verification) and record.flow == self._flow.name:
                self._verification = record


def _unread_group(key: bytes | None, value: bytes | None) -> _Unread | None:
    """Leave out offset points, of which the topic has more."""
    return None if key is None or not is_of(GroupPositions, key) else _Unread(key, value)


def _unread(key: bytes | None, value: bytes | None) -> _Unread | None:
    return None if key is None else _Unread(key, value)
