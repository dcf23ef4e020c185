"""Writes records with an idempotent producer and waits until all of them are acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from replication.adapters.admin.first_login import require_login
from replication.adapters.admin.kafka_errors import ReportedErrors, our_errors, quiet
from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ANY_PARTITION = -1  # the client chooses by the key
NOW = 0  # the client's timestamp
_OURS = {
    "enable.idempotence": True,
    "partitioner": "murmur2_random",  # as Java's clients place keys
    "linger.ms": 20,
    "message.timeout.ms": 0,  # a broker may be away for as long as it likes
}


class RecordToProduce(NamedTuple):
    """A record to write."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
    partition: int = ANY_PARTITION
    timestamp_ms: int = NOW


class RecordWriter:
    """A producer. ``client`` holds librdkafka's settings."""

    def __init__(self, client: Mapping[str, Any], compression: str = "none") -> None:
        self._address = client["bootstrap.servers"]
        self._complaints = ReportedErrors()
        self._error: KafkaError | None = None
        with our_errors(f"logging in at {self._address}"):
            require_login(client)
        settings = {**_OURS, "compression.type": compression, **client}
        with our_errors(f"creating a producer for {self._address}"):
            self._client = Producer(quiet(settings, self._complaints))

    def send(self, topic: str, record: RecordToProduce) -> bool:
        """Hand a record over. False: the client's buffer is full, ``wait`` and send it again."""
        try:
            self._client.produce(
                topic,
                record.value,
                record.key,
                record.partition,
                on_delivery=self._acked,
                timestamp=record.timestamp_ms,
                headers=list(record.headers) or None,
            )
        except BufferError:
            return False
        return True

    def wait(self, limit_s: float = 0.0) -> None:
        """Take note of acks, waiting at most ``limit_s`` for the first.

        Raises ClusterRejected if the cluster rejected a record since the last call.
        """
        self._client.poll(limit_s)
        if self._error is not None:
            error, self._error = self._error, None
            with our_errors(f"writing records to {self._address}", lambda: self._complaints):
                raise KafkaException(error)

    def flush(self, limit_s: float) -> None:
        """Wait until every record is acked. Raises ClusterUnavailable if that takes too long."""
        left = self._client.flush(limit_s)
        self.wait()
        if left:
            why = f": {self._complaints}" if str(self._complaints) else ""
            raise ClusterUnavailable(
                f"writing records to {self._address}: {left} not acked after {limit_s:g} s{why}"
            )

    def _acked(self, error: KafkaError | None, _: object) -> None:
        self._error = self._error or error
