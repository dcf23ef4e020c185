"""One cluster on one event loop: metadata, Fetch, Produce, offsets and transactions."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

from kafka.protocol.metadata import MetadataRequest

from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.wire import fetch_produce_codec
from replication.adapters.wire.connection.connections import BrokerConnections
from replication.adapters.wire.connection.requests import CALL_S, Framed, malformed
from replication.adapters.wire.coordination import Coordination
from replication.adapters.wire.fetches import Fetches, PendingFetch
from replication.adapters.wire.groups import Groups, members
from replication.adapters.wire.list_offsets import Offsets
from replication.client.error_codes import ErrorCode, named_error
from replication.client.fetch_values import FetchBuffer, Fetched, FetchEntry, Leader
from replication.client.network import APPENDS
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from replication.client.cluster_ids import Verify
    from replication.client.fetch_session import FetchOptions
    from replication.client.network import Ack, FetchAnswer


_PRODUCE_VERSION = 9


class WireNetwork:
    """Implements ``replication.client.network.Network`` over kafka-python's codecs and sockets."""

    def __init__(
        self, config: Mapping[str, Any], client_id: str, verify: Verify | None = None
    ) -> None:
        """``config`` as kafka-python takes it; ``verify``: see ``connect``."""
        self.cluster_id = ""
        self._connections = BrokerConnections(
            config["bootstrap_servers"], config, client_id, verify
        )
        self._leaders: dict[TopicPartition, Leader] = {}
        self._in_sync: dict[TopicPartition, Sequence[int]] = {}  # in sync
        self._topic_ids: dict[str, bytes] = {}
        self._denied: set[str] = set()
        self._fetches = Fetches(self._connections)
        self._coordination = Coordination(self._connections, self._call)
        self._offsets = Offsets(self._call, self.leader, self.refresh)
        self.groups = Groups(self._call, lambda: self._connections.brokers)

    # -- leaders -----------------------------------------------------------------------------

    async def refresh(self, topics: Iterable[str]) -> None:
        names = sorted(set(topics))
        request = MetadataRequest(
            topics=[
                MetadataRequest.MetadataRequestTopic(topic_id=uuid.UUID(int=0), name=name)
                for name in names
            ],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        answer = await self._call(None, request, highest=12)
        self.cluster_id = str(answer.cluster_id)
        self._connections.learn({each.node_id: (each.host, each.port) for each in answer.brokers})
        self._forget(names)
        for topic in answer.topics:
            if topic.error_code == ErrorCode.NONE:
                self._topic_ids[topic.name] = topic.topic_id.bytes
            if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                self._denied.add(topic.name)
            for each in topic.partitions:
                key = TopicPartition(topic.name, each.partition_index)
                if each.leader_id >= 0:
                    self._leaders[key] = Leader(each.leader_id, each.leader_epoch)
                self._in_sync[key] = tuple(each.isr_nodes)

    async def topic_names(self) -> Collection[str]:
        request = MetadataRequest(
            topics=None,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        answer = await self._call(None, request, highest=12)
        return {each.name for each in answer.topics if each.error_code == ErrorCode.NONE}

    def _forget(self, topics: Sequence[str]) -> None:
        for name in topics:
            self._topic_ids.pop(name, None)
        gone = set(topics)
        self._denied -= gone
        self._leaders = {k: v for k, v in self._leaders.items() if k.topic not in gone}
        self._in_sync = {k: v for k, v in self._in_sync.items() if k.topic not in gone}

    def leader(self, partition: TopicPartition) -> Leader | None:
        return self._leaders.get(partition)

    def in_sync(self, partition: TopicPartition) -> Sequence[int]:
        return self._in_sync.get(partition, ())

    def learn(self, partition: TopicPartition, leader: Leader) -> bool:
        known = self._leaders.get(partition)
        if leader.node not in self._connections.brokers or (known and known.epoch >= leader.epoch):
            return False
        self._leaders[partition] = leader
        return True

    def topic_id(self, topic: str) -> bytes | None:
        return self._topic_ids.get(topic)

    def denied(self, topic: str) -> bool:
        return topic in self._denied

    # -- data --------------------------------------------------------------------------------

    async def ready(self, node: int) -> None:
        await self._connections.channel(node, APPENDS)

    @property
    def throttled_ms(self) -> int:
        return self._connections.requests.throttled_ms

    def pause_s(self, node: int, line: str = APPENDS) -> float:
        return self._connections.pause_s(node, line)

    async def fetch(
        self,
        node: int,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
    ) -> list[Fetched]:
        return await self._fetches.fetch(node, entries, options, into)

    def begin_fetch(
        self,
        node: int,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
        on_response: FetchAnswer,
    ) -> None:
        self._fetches.begin(node, PendingFetch(entries, options, into, on_response))

    def produce(
        self,
        node: int,
        batches: Sequence[tuple[str, int, memoryview]],
        on_response: Callable[[list[Ack] | None, Exception | None], None],
        transactional_id: str = "",
    ) -> None:
        channel = self._connections.ready(node, APPENDS)
        if channel is None:
            error = ClusterUnavailable(f"appending to broker {node}: not connected")
            asyncio.get_running_loop().call_soon(on_response, None, error)
            return

        def on_frame(frame: memoryview | None, error: Exception | None) -> None:
            try:
                acks, throttled_ms = (
                    (None, 0) if frame is None else fetch_produce_codec.produce_response(frame)
                )
                self._connections.requests.throttle(channel, throttled_ms)
            except fetch_produce_codec.MALFORMED as damage:
                acks, error = None, malformed(channel, damage)
            on_response(acks, error)

        buffers = fetch_produce_codec.produce_request(batches, int(CALL_S * 1000), transactional_id)
        request = Framed(fetch_produce_codec.PRODUCE, _PRODUCE_VERSION, buffers)
        self._connections.requests.send(channel, request, on_frame, 2 * CALL_S)

    async def offset_at(self, partition: TopicPartition, timestamp: int) -> int:
        return await self._offsets.at(partition, timestamp)

    # -- producer ids and transactions -------------------------------------------------------

    async def init_producer_id(self, transactional_id: str) -> ProducerIdAndEpoch:
        return await self._coordination.init(transactional_id)

    async def current_producer(self, transactional_id: str) -> ProducerIdAndEpoch | None:
        return await self._coordination.current(transactional_id)

    async def plain_producer_id(self) -> ProducerIdAndEpoch:
        return await self._coordination.init_plain()

    async def add_to_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> Mapping[TopicPartition, int]:
        return await self._coordination.add(transactional_id, producer, partitions)

    async def end_transaction(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, commit: bool
    ) -> None:
        await self._coordination.end(transactional_id, producer, commit=commit)

    async def fence(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> None:
        rejected = await self.add_to_transaction(transactional_id, producer, partitions)
        if rejected:
            errors = ", ".join(
                f"{each}: {named_error(code)}" for each, code in sorted(rejected.items())
            )
            raise ClusterRejected(f"fencing {transactional_id}: {errors}")
        await self.end_transaction(transactional_id, producer, commit=False)

    async def members(self, group: str) -> int:
        return await members(self._connections, self._call, group)

    async def transactional_ids(self, producer_ids: Collection[int]) -> dict[int, str]:
        return await self._coordination.transactional_ids(producer_ids)

    # -- connections -------------------------------------------------------------------------

    def drop(self, line: str) -> None:
        self._fetches.drop(line)
        self._connections.drop(line)

    async def close(self) -> None:
        self._fetches.drop()
        await self._connections.close()

    async def _call(self, node: int | None, request: Any, highest: int) -> Any:
        connections = self._connections
        channel = await (
            connections.any_channel() if node is None else connections.channel(node, "call")
        )
        return await connections.requests.call(channel, request, highest)


def connect(
    properties: Mapping[str, str], client_id: str, verify: Verify | None = None
) -> WireNetwork:
    """Return a network for the running event loop; it connects on first use.

    ``properties`` are Java client properties. ``verify`` is called with the cluster id that each
    new connection leads to. Raises ConfigError for stores that cannot be read.
    """
    return WireNetwork(to_kafka_python(properties), client_id, verify)
