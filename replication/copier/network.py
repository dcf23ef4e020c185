"""What the append engine asks of a cluster. ``replication.adapters.wire`` implements it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.batches import refuse_legacy
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import NO_LEADER_EPOCH, ProducerIdAndEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from replication.batches import AbortedTransaction, LegacyFormats
    from replication.copier.session import FetchSession
    from replication.model import TopicPartition

    FetchAnswer = Callable[[list["Fetched"] | None, Exception | None], None]


class Fenced(ClusterRejected):
    """Somebody has got a newer epoch of the producer id."""


class NotGranted(ClusterRejected):
    """Our user may not do that, or gets no producer id of the kind that was asked for."""


class SessionLost(ClusterUnavailable):
    """The broker has no such fetch session any more: begin a new one."""


FetchKey = tuple[bytes, int]  # topic id and number of a partition


class FetchEntry(NamedTuple):
    """One partition to fetch from, by topic id, so that a re-created topic is no match."""

    topic_id: bytes  # 16 bytes
    partition: int
    offset: int
    leader_epoch: int = NO_LEADER_EPOCH  # that we know of
    last_epoch: int = NO_LEADER_EPOCH  # of the batch before ``offset``


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How to ask for data; see Kafka's FetchRequest."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 16 << 20  # of the response; its first batch may be larger
    partition_bytes: int = 4 << 20
    isolation: int = 0  # 1: read_committed
    rack: str = ""
    session: FetchSession | None = None  # None: the request stands alone
    line: str = "fetch"  # name of its connection: what may not wait for a long poll has another


class Leader(NamedTuple):
    """Who leads a partition, and since which leader epoch."""

    node: int
    epoch: int


class EpochEndOffset(NamedTuple):
    """A leader epoch, and the offset after the last batch of it."""

    epoch: int
    end_offset: int


class Fetched(NamedTuple):
    """What a Fetch response says of one partition. ``records`` lies in the frame's buffer."""

    topic_id: bytes
    partition: int
    error: int
    high_watermark: int
    stable: int  # last stable offset
    log_start: int
    aborted: list[AbortedTransaction]
    preferred_replica: int
    records: memoryview
    diverging: EpochEndOffset | None = None  # what the log has instead of our last epoch
    leader: Leader | None = None  # when the broker that was asked is it no more
    legacy: LegacyFormats = refuse_legacy  # reads what older brokers left in ``records``


class Ack(NamedTuple):
    """The broker's answer to one appended batch; ``base`` is its first offset."""

    topic: str
    partition: int
    error: int
    base: int
    message: str


@dataclass(slots=True)
class Frame:
    """A buffer with one fetch response in it, free again when nobody holds it."""

    memory: bytearray = field(default_factory=bytearray)
    holders: int = 0
    on_free: Callable[[Frame], None] | None = None

    def view(self, size: int) -> memoryview:
        """Return ``size`` bytes to receive into; grows, never shrinks."""
        if size > len(self.memory):
            self.memory = bytearray(size + size // 4)
        return memoryview(self.memory)[:size]

    def hold(self) -> None:
        self.holders += 1

    def release(self) -> None:
        self.holders -= 1
        if self.holders == 0 and self.on_free is not None:
            self.on_free(self)


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
        into: Frame,
    ) -> list[Fetched]:
        """Fetch into ``into``'s memory; the answer's ``records`` point there."""

    def begin_fetch(
        self,
        node: int,
        entries: Sequence[FetchEntry],
        options: FetchOptions,
        into: Frame,
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
    _frame: Frame = field(default_factory=Frame)

    async def fetch(self, at: int, options: FetchOptions) -> Fetched | None:
        """Fetch once; None: it has no leader, or there is no such topic."""
        leader = self.network.leader(self.partition)
        topic_id = self.network.topic_id(self.partition.topic)
        if leader is None or topic_id is None:
            return None
        entry = FetchEntry(topic_id, self.partition.partition, at, leader.epoch)
        options = replace(options, line=self.line)
        (found,) = await self.network.fetch(leader.node, [entry], options, self._frame)
        return found
