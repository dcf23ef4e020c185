"""Requests offsets by timestamp: one ListOffsets per leader, however many partitions."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.protocol.consumer import ListOffsetsRequest

from replication.adapters.wire.batched_requests import BatchedRequests
from replication.adapters.wire.connection.retries import TRY_AGAIN, attempts
from replication.adapters.wire.fetch_produce_codec import CONSUMER_REPLICA_ID
from replication.client.error_codes import ErrorCode, named_error
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import (
    EARLIEST_LOCAL_TIMESTAMP,
    NO_LEADER_EPOCH,
    UNKNOWN_OFFSET,
    IsolationLevel,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from replication.client.fetch_values import Leader
    from replication.model import TopicPartition

    Call = Callable[[int, Any, int], Awaitable[Any]]  # node, request, highest version

_VERSION, _LOCAL_VERSION = 7, 8  # 8 is the first that knows the log on the broker's own disk
_Topic = ListOffsetsRequest.ListOffsetsTopic


class _Found(NamedTuple):
    error: int
    offset: int


class Offsets:
    """The offsets of one cluster. ``call`` sends a request, ``refresh`` updates leaders."""

    def __init__(
        self,
        call: Call,
        leader: Callable[[TopicPartition], Leader | None],
        refresh: Callable[[Iterable[str]], Awaitable[None]],
    ) -> None:
        self._call = call
        self._leader = leader
        self._refresh = refresh
        self._stale: BatchedRequests[str, None] = BatchedRequests(self._refresh_all)
        self._batched: dict[tuple[int, int], BatchedRequests[TopicPartition, _Found]] = {}

    async def at(self, partition: TopicPartition, timestamp: int) -> int:
        """Return the offset at ``timestamp``; retry while leaders move."""
        async for _ in attempts():
            leader = self._leader(partition)
            if leader is not None:
                error, offset = await self._of(leader.node, timestamp).ask(partition)
                if error == ErrorCode.NONE:
                    return offset
                if error not in TRY_AGAIN:
                    raise ClusterRejected(
                        f"requesting an offset of {partition}: {named_error(error)}"
                    )
            await self._stale.ask(partition.topic)
        raise ClusterUnavailable(f"requesting an offset of {partition}: the leader does not answer")

    async def _refresh_all(self, topics: Sequence[str]) -> dict[str, None]:
        await self._refresh(topics)
        return dict.fromkeys(topics)

    def _of(self, node: int, timestamp: int) -> BatchedRequests[TopicPartition, _Found]:
        """Return the batch of requests for one timestamp to one broker."""
        key = node, timestamp
        if key not in self._batched:

            async def ask_all(
                partitions: Sequence[TopicPartition],
            ) -> Mapping[TopicPartition, _Found]:
                self._batched.pop(key, None)
                is_local = timestamp == EARLIEST_LOCAL_TIMESTAMP
                request = _request(partitions, timestamp, _LOCAL_VERSION if is_local else 0)
                highest = _LOCAL_VERSION if is_local else _VERSION
                return _found(await self._call(node, request, highest), partitions)

            self._batched[key] = BatchedRequests(ask_all)
        return self._batched[key]


def _request(partitions: Iterable[TopicPartition], timestamp: int, lowest: int) -> Any:
    by_topic = groupby(sorted(partitions), key=lambda each: each.topic)
    return ListOffsetsRequest(
        min_version=lowest,
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        topics=[
            _Topic(
                name=name,
                partitions=[
                    _Topic.ListOffsetsPartition(
                        partition_index=each.partition,
                        current_leader_epoch=NO_LEADER_EPOCH,
                        timestamp=timestamp,
                    )
                    for each in listed
                ],
            )
            for name, listed in by_topic
        ],
    )


def _found(answer: Any, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, _Found]:
    offsets = {
        (topic.name, each.partition_index): _Found(int(each.error_code), int(each.offset))
        for topic in answer.topics
        for each in topic.partitions
    }
    left_out = _Found(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_OFFSET)
    return {each: offsets.get((each.topic, each.partition), left_out) for each in partitions}
