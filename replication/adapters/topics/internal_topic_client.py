"""Creates, writes and reads MirrorMaker 2's internal topics on a cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, Producer

from replication.adapters.admin.first_login import require_login
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.admin.kafka_errors import ReportedErrors, flush, our_errors, quiet
from replication.adapters.auth.client_settings import RenewedClient, explained
from replication.adapters.auth.reached_clusters import reached_by
from replication.adapters.topics.record_reader import RecordReader
from replication.errors import ClusterRejected
from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from replication.client.cluster_ids import Verify
    from replication.mm2.internal_topics_protocol import InternalTopicRecord

_PATIENCE_S = 10.0
_COMPACT = {"cleanup.policy": "compact"}
# A principal that may not create topics is assumed to know that they exist.
_TAKEN_FOR_THERE = frozenset(
    {
        KafkaError.TOPIC_ALREADY_EXISTS,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._UNSUPPORTED_FEATURE,
    }
)


class InternalTopicClient:
    """Implements ``mm2.internal_topics_protocol.Topics`` for one cluster.

    ``client`` holds librdkafka's settings. Raises ClusterUnavailable or ClusterRejected, which name
    the cluster's address. ``verify``: as for KafkaAdmin; a write trusts the last answer.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        admin: KafkaAdmin | None = None,
        verify: Verify | None = None,
    ) -> None:
        self._client = client
        self._verify = verify
        self._address = client["bootstrap.servers"]
        self._complaints = ReportedErrors()
        self._admin = admin or KafkaAdmin(client, verify=verify)
        self._producers = RenewedClient(client, self._connected, is_refused=self._complaints.refuse)

    def ensure(self, name: str, replication_factor: int) -> None:
        """Create a compacted topic of one partition unless it is there, or not ours to make."""
        first = TopicPartition(name, 0)
        if first in self._admin.end_offsets([first]):
            return
        brokers = self._admin.broker_count()
        factor = -1 if replication_factor < 0 else max(1, min(replication_factor, brokers))
        try:
            self._admin.create_topic(name, 1, factor, _COMPACT)
        except ClusterRejected as error:
            if _code(error) not in _TAKEN_FOR_THERE:
                raise

    def write(self, topic: str, entries: Iterable[InternalTopicRecord]) -> None:
        """Write in order and wait until all replicas in sync have it."""
        problems: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                problems.append(error)

        doing = f"writing to {topic} at {self._address}"
        refusals, errors = self._producers.ended_by_refusal(), explained(self._client)
        with errors, refusals, our_errors(doing, lambda: self._complaints):
            self._producers.get().poll(0)  # it may say that it has met another cluster
            reached_by(self._client).require(self._verify)
            producer = self._producers.get()
            self._complaints.forget()
            for each in entries:
                self._hand_over(producer, topic, each, delivered)
            flush(producer, self._complaints, _PATIENCE_S + 1)
            if problems:
                raise KafkaException(problems[0])

    def read(self, topic: str, last: int = 1 << 62) -> list[tuple[bytes | None, bytes | None]]:
        """Return the committed records, by partition; none if there is no such topic.

        ``last``: of each partition only about so many, the newest.
        """
        reader = RecordReader(self._client, "read_committed")
        try:
            count = reader.partitions(topic) or 0
            places = [TopicPartition(topic, number) for number in range(count)]
            return [each for place in places for each in _content(reader, place, last)]
        finally:
            reader.close()

    def _hand_over(
        self,
        producer: Producer,
        topic: str,
        entry: InternalTopicRecord,
        delivered: Callable[..., None],
    ) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                producer.produce(
                    topic,
                    entry.value,
                    entry.key,
                    entry.partition,
                    on_delivery=delivered,
                    timestamp=entry.at_ms,
                )
            except BufferError:
                if time.monotonic() > deadline:
                    raise TimeoutError from None
                producer.poll(0.1)
            else:
                return

    def _connected(self, client: Mapping[str, Any]) -> Producer:
        require_login(self._client)
        return Producer(
            {
                **quiet(client, self._complaints),
                "acks": "all",
                "allow.auto.create.topics": False,  # brokers would make another one
                "max.in.flight.requests.per.connection": 1,  # keeps the order
                "partitioner": "murmur2_random",  # as Java's clients place keys
                "linger.ms": 0,
                "message.timeout.ms": int(_PATIENCE_S * 1000),
                "topic.metadata.propagation.max.ms": 5000,  # it may just have been created
                "topic.metadata.refresh.fast.interval.ms": 100,
            }
        )


def _content(
    reader: RecordReader, place: TopicPartition, last: int
) -> Iterator[tuple[bytes | None, bytes | None]]:
    _, end = reader.bounds(place)
    return ((record.key, record.value) for record in reader.read(place, end, end - last))


def _code(error: ClusterRejected) -> int | None:
    cause = error.__cause__
    return cause.args[0].code() if isinstance(cause, KafkaException) else None
