"""What the core asks of a cluster's brokers. ``replication.adapters.wire`` implements it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from replication.client.fetch_session import FetchOptions
    from replication.client.fetch_values import Fetched, Leader
    from replication.model import ProducerIdAndEpoch, TopicPartition

    FetchAnswer = Callable[[list[Fetched] | None, Exception | None], None]


class Fenced(ClusterRejected):
    """Somebody has got a newer epoch of the producer id."""


class NotGranted(ClusterRejected):
    """Our user may not do that, or gets no producer id of the kind that was asked for."""


class SessionLost(ClusterUnavailable):
    """The broker has no such fetch session any more: begin a new one."""


class Ack(NamedTuple):
    """The broker's answer to one appended batch; ``base`` is its first offset."""

    topic: str
    partition: int
    error: int
    base: int
    message: str


class Network(Protocol):
    """One cluster, for one event loop. Raises ClusterUnavailable or ClusterRejected throughout."""

    cluster_id: str  # as of the last refresh

    async def refresh(self, topics: Iterable[str]) -> None:
        """Ask for leaders, leader epochs and topic ids of ``topics``."""

    def leader(self, partition: TopicPartition) -> Leader | None:
        """Return the leader as of the last refresh; None: it has none."""

    def learn(self, partition: TopicPartition, leader: Leader) -> bool:
        """Take in a leader that a broker names; False: it is older, or its address is not known."""

    def topic_id(self, topic: str) -> bytes | None:
        """Return the topic's id as of the last refresh; None: no such topic."""

    def denied(self, topic: str) -> bool:
        """Say whether the last refresh was not allowed to see the topic, if there is one."""

    async def ready(self, node: int) -> None:
        """Open the connection for appends to ``node`` unless it is open."""

    async def fetch(
        self,
        node: int,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
    ) -> list[Fetched]:
        """Fetch into ``into``'s memory; the answer's ``records`` point there."""

    def begin_fetch(
        self,
        node: int,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: FetchBuffer,
        answer: FetchAnswer,
    ) -> None:
        """Fetch; ``answer(found, None)`` or ``answer(None, error)`` is called once.

        In a session ``entries`` are what is new in it, and the answer holds what is news; the
        error is SessionLost when the broker has lost it. The request is on its way when this
        returns, if the connection is open; when that breaks, the answer may come before.
        """

    def produce(
        self,
        node: int,
        batches: Sequence[tuple[str, int, memoryview]],
        answer: Callable[[list[Ack] | None, Exception | None], None],
        transactional_id: str = "",
    ) -> None:
        """Append batches, one a partition, those of a topic together; acks=all.

        With a ``transactional_id`` all of them are part of its open transaction.

        The batches must stay as they are until ``answer(acks, None)`` or ``answer(None, error)``.
        """

    async def offset_at(self, partition: TopicPartition, timestamp: int) -> int:
        """Return the offset at ``timestamp``: ms, EARLIEST_TIMESTAMP or LATEST_TIMESTAMP.

        UNKNOWN_OFFSET where no record is as late as that.
        """

    async def init_producer_id(self, transactional_id: str) -> ProducerIdAndEpoch:
        """Return a producer id and its epoch; whoever had the id before has an older epoch.

        A transaction of theirs that was open is aborted, one that was decided is completed first.
        Raises NotGranted where the cluster gives no transactional ids.
        """

    async def plain_producer_id(self) -> ProducerIdAndEpoch:
        """Return a new producer that nobody can fence.

        Raises NotGranted.
        """

    async def fence(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """Begin and abort an empty transaction on ``partitions``: a marker goes into each.

        The markers are written after this returns: wait for them by reading (invariant B).
        """

    async def add_to_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> Mapping[TopicPartition, int]:
        """Begin a transaction unless one is open, and let ``partitions`` take part.

        Returns the error codes of those that may not; then none of the others was added either.
        """

    async def end_transaction(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, commit: bool
    ) -> None:
        """End the open transaction. Once it is decided, asking again gets the same answer."""

    def drop(self, line: str) -> None:
        """Close the connections called ``line`` on which an answer is still awaited."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(slots=True)
class Reading:
    """One partition, read from its leader a Fetch at a time; an answer is good until the next."""

    network: Network
    partition: TopicPartition
    line: str  # of its connections
    _buffer: FetchBuffer = field(default_factory=FetchBuffer)

    async def fetch(self, at: int, options: FetchOptions) -> Fetched | None:
        """Fetch once; None: it has no leader, or there is no such topic."""
        leader = self.network.leader(self.partition)
        topic_id = self.network.topic_id(self.partition.topic)
        if leader is None or topic_id is None:
            return None
        entry = FetchEntry(topic_id, self.partition.partition, at, leader.epoch)
        options = replace(options, line=self.line)
        (found,) = await self.network.fetch(leader.node, [entry], options, self._buffer)
        return found
