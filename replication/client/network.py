"""Interface to a cluster's brokers: metadata, Fetch, Produce, offsets and transactions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import NO_LEADER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from replication.client.fetch_session import FetchOptions
    from replication.client.fetch_values import Fetched, Leader
    from replication.model import ProducerIdAndEpoch, TopicPartition

    FetchAnswer = Callable[[list[Fetched] | None, Exception | None], None]


APPENDS = "produce"  # name of the connection for appends


class Fenced(ClusterRejected):
    """Another producer has got a newer epoch of the producer id."""


class NotGranted(ClusterRejected):
    """Our user lacks the ACL, or the cluster grants no producer id of this kind."""


class SessionLost(ClusterUnavailable):
    """The broker does not have the fetch session any more: begin a new one."""


class Ack(NamedTuple):
    """The broker's response to one appended batch; ``base`` is its first offset."""

    topic: str
    partition: int
    error: int
    base: int
    message: str


class Network(Protocol):
    """One cluster, for one event loop, as ``replication.adapters.wire`` implements it.

    All requests raise ClusterUnavailable or ClusterRejected.
    """

    cluster_id: str  # as of the last refresh

    async def refresh(self, topics: Iterable[str]) -> None:
        """Request leaders, leader epochs and topic ids of ``topics``."""

    async def topic_names(self) -> Collection[str]:
        """Return the names of all topics that our user may describe."""

    def leader(self, partition: TopicPartition) -> Leader | None:
        """Return the leader as of the last refresh; None: it has none."""

    def in_sync(self, partition: TopicPartition) -> Sequence[int]:
        """Return the brokers with an in-sync replica as of the last refresh, the leader too."""

    def learn(self, partition: TopicPartition, leader: Leader) -> bool:
        """Note a leader that a broker named; False: it is older, or its address is unknown."""

    def topic_id(self, topic: str) -> bytes | None:
        """Return the topic's id as of the last refresh; None: it does not exist."""

    def denied(self, topic: str) -> bool:
        """Say whether the last refresh was not authorized to describe the topic, if it exists."""

    async def ready(self, node: int) -> None:
        """Open the connection for appends to ``node`` unless it is open."""

    @property
    def throttled_ms(self) -> int:
        """For how long brokers have throttled us until now, summed over connections."""

    def pause_s(self, node: int, line: str = APPENDS) -> float:
        """Return for how many seconds ``node`` reads no request of a connection: it throttles us.

        Not more than 0: it does. ``line``: the connection for appends, or of a Fetch.
        """

    async def fetch(
        self,
        node: int,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
    ) -> list[Fetched]:
        """Fetch into ``into``'s memory; ``records`` of the result point there."""

    def begin_fetch(
        self,
        node: int,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
        on_response: FetchAnswer,
    ) -> None:
        """Fetch; ``on_response(found, None)`` or ``on_response(None, error)`` is called once.

        In a session ``entries`` are the added or changed partitions, and the response holds only
        partitions with news; the error is SessionLost when the broker has lost the session. If the
        connection is open, the request is sent when this returns; if it breaks, ``on_response``
        may be called before.
        """

    def produce(
        self,
        node: int,
        batches: Sequence[tuple[str, int, memoryview]],
        on_response: Callable[[list[Ack] | None, Exception | None], None],
        transactional_id: str = "",
    ) -> None:
        """Append batches, one per partition, those of a topic together; acks=all.

        With a ``transactional_id`` all of them are part of its open transaction.

        The batches must not change until ``on_response(acks, None)`` or ``(None, error)``.
        """

    async def offset_at(self, partition: TopicPartition, timestamp: int) -> int:
        """Return the offset at ``timestamp``: ms, or EARLIEST_, LATEST_, EARLIEST_LOCAL_TIMESTAMP.

        UNKNOWN_OFFSET if no record has a timestamp as late as that. Raises ClusterRejected for
        EARLIEST_LOCAL_TIMESTAMP where brokers have no tiered storage.
        """

    async def init_producer_id(self, transactional_id: str) -> ProducerIdAndEpoch:
        """Return a producer id and its new epoch, which fences the id's former producer.

        Its open transaction is aborted; one that was decided is completed first.
        Raises NotGranted where the cluster grants no transactional ids.
        """

    async def current_producer(self, transactional_id: str) -> ProducerIdAndEpoch | None:
        """Return the producer that holds a transactional id now; None: the cluster forgot the id.

        It changes nothing. Raises NotGranted.
        """

    async def plain_producer_id(self) -> ProducerIdAndEpoch:
        """Return a new producer id without a transactional id, which cannot be fenced.

        Raises NotGranted.
        """

    async def fence(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """Begin and abort an empty transaction on ``partitions``: each gets an abort marker.

        The markers are written after this returns: wait for them by reading (invariant B).
        """

    async def add_to_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> Mapping[TopicPartition, int]:
        """Begin a transaction unless one is open, and add ``partitions`` to it.

        Returns the error codes of rejected partitions; then none of the others was added either.
        """

    async def end_transaction(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, commit: bool
    ) -> None:
        """End the open transaction. Once it is decided, a repeated request has no other effect."""

    def drop(self, line: str) -> None:
        """Close the connections called ``line`` that have an open request."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(slots=True)
class PartitionReader:
    """Reads one partition from its leader; a result is valid until the next Fetch."""

    network: Network
    partition: TopicPartition
    line: str  # of its connections
    _buffer: FetchBuffer = field(default_factory=FetchBuffer)

    async def fetch(
        self, at: int, options: FetchOptions, last_epoch: int = NO_LEADER_EPOCH
    ) -> Fetched | None:
        """Fetch once; None: it has no leader, or the topic does not exist.

        Raises ClusterUnavailable for a response without the partition.

        ``last_epoch``: of the batch before ``at``; the result is ``diverging`` if the log has
        another one.
        """
        leader = self.network.leader(self.partition)
        topic_id = self.network.topic_id(self.partition.topic)
        if leader is None or topic_id is None:
            return None
        entry = FetchEntry(topic_id, self.partition.partition, at, leader.epoch, last_epoch)
        options = replace(options, line=self.line)
        found = await self.network.fetch(leader.node, [entry], options, self._buffer)
        place = topic_id, self.partition.partition
        for each in found:
            if (each.topic_id, each.partition) == place:
                return each
        raise ClusterUnavailable(f"fetching {self.partition}: the response lacks the partition")
