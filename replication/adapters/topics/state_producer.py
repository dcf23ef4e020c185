"""Writes records of Isthmus' own topics, in order: at once or in the background."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, Producer

from replication.adapters.admin.first_login import require_login
from replication.adapters.admin.kafka_errors import ReportedErrors, flush, our_errors, quiet
from replication.adapters.auth.client_settings import RenewedClient, explained
from replication.adapters.auth.reached_clusters import reached_by
from replication.errors import LoginRejected, WrongCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.cluster_ids import Verify
    from replication.state import Stored

_PATIENCE_S = 10.0


class StateProducer:
    """A producer that is made on first use. ``client`` holds librdkafka's settings.

    Raises ClusterUnavailable or ClusterRejected, which name the topic and the cluster's address.
    ``verify`` raises WrongCluster for the id of another cluster, to which nothing is written.
    """

    def __init__(self, client: Mapping[str, Any], verify: Verify | None) -> None:
        self._client = client
        self._verify = verify
        self._address = client["bootstrap.servers"]
        self._complaints = ReportedErrors()
        self._producers = RenewedClient(
            client, self._connected, partial(_end, client, verify), self._complaints.refuse
        )
        self.last_error: str | None = None  # why the last post failed, until one succeeds

    def write(self, topic: str, pairs: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Write keys and values in order and wait until all replicas in sync have them."""
        problems: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                problems.append(error)

        doing = f"writing to {topic} at {self._address}"
        refusals, errors = self._producers.ended_by_refusal(), explained(self._client)
        with errors, refusals, our_errors(doing, lambda: self._complaints):
            producer = self._producers.get()
            self._require_same(producer, topic)
            self._complaints.forget()
            for key, value in pairs:
                producer.produce(topic, key=key, value=value, partition=0, on_delivery=delivered)
            flush(producer, self._complaints, _PATIENCE_S + 1)
            if problems and problems[0].code() == KafkaError._MSG_TIMED_OUT:
                raise TimeoutError
            if problems:
                raise KafkaException(problems[0])

    def _require_same(self, producer: Producer, topic: str) -> None:
        """Ask the producer itself: it may have learned other brokers than the admin client."""
        if self._verify is None:
            return
        cluster_id = str(producer.list_topics(topic, timeout=_PATIENCE_S).cluster_id)
        reached_by(self._client).learn(cluster_id)
        try:
            self._verify(cluster_id)
        except WrongCluster:
            self._producers.close()
            raise

    def post(self, topic: str, record: Stored) -> None:
        """Write without waiting; ``last_error`` tells later whether it failed."""
        if self._unsent and self._complaints.kind is LoginRejected:
            self._producers.refused(LoginRejected(str(self._complaints)))
        try:
            with explained(self._client):
                reached_by(self._client).require(self._verify)
                self._producers.get().poll(0)  # it may say that it has met another cluster
                reached_by(self._client).require(self._verify)
                producer = self._producers.get()
        except (LoginRejected, WrongCluster) as error:
            if isinstance(error, WrongCluster):
                self._producers.close()
            self.last_error = f"writing to {topic} at {self._address}: {error}"
            return
        try:
            producer.produce(
                topic,
                key=record.key(),
                value=record.value(),
                partition=0,
                on_delivery=lambda error, _: self._note(topic, error),
            )
        except BufferError:
            why = "the cluster does not acknowledge, and the producer's queue is full"
            self.last_error = f"writing to {topic} at {self._address}: {why}"
        except KafkaException as error:
            self._note(topic, error.args[0])
        producer.poll(0)

    @property
    def _unsent(self) -> bool:
        """Say whether something that was posted is not written, or was not."""
        producer = self._producers.made
        return self.last_error is not None or (producer is not None and len(producer) > 0)

    def close(self) -> None:
        """Send what is waiting, for at most a second, and forget the rest."""
        self._producers.close()

    def _note(self, topic: str, error: KafkaError | None) -> None:
        if error is None:
            self.last_error = None
        else:
            message = str(self._complaints) or error.str()
            self.last_error = f"writing to {topic} at {self._address}: {message}"

    def _connected(self, client: Mapping[str, Any]) -> Producer:
        require_login(self._client)
        self._complaints.forget()
        return Producer(
            {
                **quiet(client, self._complaints),
                "acks": "all",
                # A topic that a broker makes by itself is not compacted: its records go.
                "allow.auto.create.topics": False,
                # One request at a time keeps the order without a producer id, for which the
                # credentials may lack the ACL. A repeat does no harm: equal keys compact.
                "max.in.flight.requests.per.connection": 1,
                "linger.ms": 0,
                "message.timeout.ms": int(_PATIENCE_S * 1000),
                "topic.metadata.propagation.max.ms": 2000,  # it may just have been created
                "topic.metadata.refresh.fast.interval.ms": 100,
            }
        )


def _end(client: Mapping[str, Any], verify: Verify | None, producer: Producer) -> None:
    """Send what waits, for at most a second; nothing to another cluster."""
    try:
        reached_by(client).require(verify)
    except WrongCluster:
        producer.purge()
    producer.flush(1.0)
