"""Lists all topics of a cluster with their ids, in one Metadata request that is cheap to decode.

librdkafka's listing has no topic ids; its request for them builds objects for every replica of
every partition: with thousands of partitions an idle driver would spend its time on that.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import struct
import threading
from typing import TYPE_CHECKING

from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.wire.connection.connections import BrokerConnections
from replication.adapters.wire.connection.requests import CALL_S, Framed, settle
from replication.adapters.wire.fetch_produce_codec import MALFORMED, read_uvarint, skip_tags
from replication.client.admin import TopicInfo
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.wire.connection.channel import Channel
    from replication.client.cluster_ids import Verify

_METADATA, _VERSION = 3, 12  # in brokers since 3.0; Fetch by topic id needs newer ones
_ALL_TOPICS = b"\0\0\0\0"  # all topics; create none; no authorized operations; no tags
_NUMBER = struct.Struct(">i")
_TOPIC_ERROR = struct.Struct(">h")
_PARTITION_HEAD = 2 + 4 + 4 + 4  # error, number, leader, leader epoch
_OPERATIONS = 4
_TIMEOUT_S = 10.0


class TopicList:
    """Requests the topics of one cluster, over a connection that stays open.

    ``properties`` are Java client properties; errors show ``address``. Threads take turns. Raises
    ClusterUnavailable or ClusterRejected; ConfigError for stores that cannot be read.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        client_id: str,
        verify: Verify | None = None,
        address: str = "",
    ) -> None:
        config = to_kafka_python(properties)
        self._address = address or ",".join(config["bootstrap_servers"])
        self._loop = asyncio.new_event_loop()
        servers = config["bootstrap_servers"]
        self._connections = BrokerConnections(servers, config, client_id, verify)
        self._turn = threading.Lock()
        self._node: int | None = None  # the broker to ask; None: any
        self._last = -1  # the broker that was asked last, of those that the cluster named

    def topics(self, *, another_broker: bool = False) -> dict[str, TopicInfo]:
        """Return all topics that the credentials may describe by name, internal ones too.

        ``another_broker``: ask the next of the brokers that the cluster last named. Raises
        ClusterUnavailable if the second of two attempts, 10 s each at most, fails too.
        """
        with self._turn:
            if another_broker and (following := self._following()) is not None:
                self._node = self._last = following
            try:
                return self._loop.run_until_complete(self._list_in_time())
            except ClusterUnavailable:  # a connection that broke while idle, or a silent broker
                self._node = None
                return self._loop.run_until_complete(self._list_in_time())

    def close(self) -> None:
        """Close the connection; a garbage collector may do so, also inside of another loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._close()
        else:
            threading.Thread(target=self._close).start()

    def _close(self) -> None:
        with self._turn:
            if not self._loop.is_closed():
                self._loop.run_until_complete(self._connections.close())
                self._loop.close()

    def _following(self) -> int | None:
        """Return the broker after the one that was asked last; None: none is known yet."""
        nodes = sorted(each for each in self._connections.brokers if each >= 0)
        later = [each for each in nodes if each > self._last]
        return next(iter(later or nodes), None)

    async def _list_in_time(self) -> dict[str, TopicInfo]:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return await self._list()
        except TimeoutError as problem:
            self._connections.drop("call")
            message = f"listing the topics at {self._address}: no response in time"
            raise ClusterUnavailable(message) from problem

    async def _list(self) -> dict[str, TopicInfo]:
        connections = self._connections
        channel = await self._channel()
        answered: asyncio.Future[memoryview] = self._loop.create_future()
        request = Framed(_METADATA, _VERSION, [_ALL_TOPICS])
        connections.requests.send(channel, request, functools.partial(settle, answered), CALL_S)
        frame = await answered
        try:
            connections.learn(read_brokers(frame)[0])
            return read_topics(frame)
        except MALFORMED as problem:
            message = f"listing the topics at {self._address}: decoding the response: {problem}"
            raise ClusterUnavailable(message) from problem

    async def _channel(self) -> Channel:
        """Return a channel to the broker to ask, or to any other if it cannot be reached."""
        if self._node is not None and self._node in self._connections.brokers:
            with contextlib.suppress(ClusterUnavailable, ClusterRejected):
                return await self._connections.channel(self._node, "call")
        return await self._connections.any_channel()


def read_topics(frame: memoryview) -> dict[str, TopicInfo]:
    """Return the topics of a Metadata response, version 12. ``frame`` begins with its header."""
    _, at = read_brokers(frame)
    at = _after_text(frame, at) + 4  # cluster id, controller
    count, at = read_uvarint(frame, at)
    found = {}
    for _ in range(count - 1):
        (error,) = _TOPIC_ERROR.unpack_from(frame, at)
        length, at = read_uvarint(frame, at + _TOPIC_ERROR.size)
        name = str(frame[at : at + length - 1], "utf-8")
        if not name.isprintable():  # a terminal would obey it, librdkafka stop at its byte of 0
            raise ValueError(f"a topic is called {name!r}, which no broker accepts")
        at += length - 1
        topic_id = frame[at : at + 16].hex()
        partitions, at = read_uvarint(frame, at + 16 + 1)  # past "is internal"
        fewest = 0
        for number in range(partitions - 1):
            replicas = read_uvarint(frame, at + _PARTITION_HEAD)[0] - 1
            fewest = min(fewest, replicas) if number else replicas
            at = _after_partition(frame, at)
        at = skip_tags(frame, at + _OPERATIONS)
        if not error:
            known = topic_id if topic_id.strip("0") else ""
            found[name] = TopicInfo(name, known, partitions - 1, fewest)
    return found


def read_brokers(frame: memoryview) -> tuple[dict[int, tuple[str, int]], int]:
    """Return the address of each broker of a Metadata response, and the position after them."""
    count, at = read_uvarint(frame, 4 + 1 + 4)  # correlation id, header tags, throttle time
    found = {}
    for _ in range(count - 1):
        (node,) = _NUMBER.unpack_from(frame, at)
        length, at = read_uvarint(frame, at + _NUMBER.size)
        host = str(frame[at : at + length - 1], "utf-8")
        at += length - 1
        (port,) = _NUMBER.unpack_from(frame, at)
        found[node] = host, port
        at = skip_tags(frame, _after_text(frame, at + _NUMBER.size))  # rack
    return found, at


def _after_partition(frame: memoryview, at: int) -> int:
    at += _PARTITION_HEAD
    for _ in range(3):  # replicas, those in sync, those offline
        count = frame[at]
        if count < 0x80:
            at += 4 * max(count, 1) - 3
        else:
            count, at = read_uvarint(frame, at)
            at += 4 * (count - 1)
    return at + 1 if frame[at] == 0 else skip_tags(frame, at)


def _after_text(frame: memoryview, at: int) -> int:
    """Return the position after a compact string, or after none."""
    length, at = read_uvarint(frame, at)
    return at + max(length - 1, 0)
