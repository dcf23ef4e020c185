"""Reads a partition's records between two offsets, as a consumer sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
)
from confluent_kafka import TopicPartition as ClientPartition

from replication.adapters.admin.first_login import require_login
from replication.adapters.admin.kafka_errors import ReportedErrors, our_errors, quiet
from replication.adapters.auth.client_settings import read_now
from replication.errors import ClusterUnavailable
from replication.model import OffsetRange

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterator, Mapping

    from confluent_kafka import Message

    from replication.model import TopicPartition

_PATIENCE_S = 10.0  # for one answer
_SILENCE_S = 30.0  # without a record where there should be one
_AT_ONCE = 2_000
_WAIT_S = 0.1  # for so many; an end is noticed after this time at the latest
_OURS = {
    "group.id": "isthmus-compare",  # the client requires one; it is never joined or committed to
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",  # what retention takes while we read is skipped
    "queued.max.messages.kbytes": 16 << 10,
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 50,  # how long the end of one partition holds up the next
}
_NO_TOPIC = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})


class ConsumedRecord(NamedTuple):
    """What a record holds; ``time`` is (milliseconds, type)."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    time: tuple[int, int]

    @property
    def retimed(self) -> bool:
        """Say whether a broker put its own time on it (message.timestamp.type=LogAppendTime)."""
        return self.time[1] == TIMESTAMP_LOG_APPEND_TIME


class RecordReader:
    """A consumer of single partitions, one at a time. ``client`` holds librdkafka's settings.

    Raises ClusterUnavailable or ClusterRejected.
    """

    def __init__(self, client: Mapping[str, Any], isolation: str) -> None:
        self._address = client["bootstrap.servers"]
        self._complaints = ReportedErrors()
        with our_errors(f"logging in at {self._address}"):
            require_login(client)
        settings = {**read_now(client), **_OURS, "isolation.level": isolation}
        with our_errors(f"creating a consumer for {self._address}"):
            self._client = Consumer(quiet(settings, self._complaints))

    def close(self) -> None:
        """Close the consumer."""
        self._client.close()

    def partitions(self, topic: str) -> int | None:
        """Return how many partitions the topic has, or None if there is no such topic."""
        with self._doing(f"looking up {topic}"):
            found = self._client.list_topics(topic, timeout=_PATIENCE_S).topics[topic]
            if found.error is None:
                return len(found.partitions)
            if found.error.code() in _NO_TOPIC:
                return None
            raise KafkaException(found.error)

    def bounds(self, partition: TopicPartition) -> OffsetRange:
        """Return the first offset and the readable end, control records included."""
        with self._doing(f"reading the offsets of {partition}"):
            low, high = self._client.get_watermark_offsets(
                ClientPartition(*partition), timeout=_PATIENCE_S
            )
        return OffsetRange(low, high)

    def read(self, partition: TopicPartition, end: int, begin: int = 0) -> Iterator[ConsumedRecord]:
        """Yield the records from ``begin``, or the partition's start, up to, without, ``end``.

        Read again, only with a later ``begin``: the client may still hold earlier messages.
        """
        start = max(begin, self.bounds(partition)[0])
        if start >= end:
            return
        with self._doing(f"reading {partition}"):
            self._client.assign([ClientPartition(*partition, start)])
        for record in map(_record, self._messages(partition, end)):
            if start <= record.offset < end:
                yield record
            if record.offset >= end - 1:
                return

    def _messages(self, partition: TopicPartition, end: int) -> Iterator[Message]:
        """Yield messages until ``end`` is reached, by a message or behind control records.

        The broker may report an earlier end for a while: a new leader has yet to learn how far
        the others are.
        """
        silent_s = 0.0
        while silent_s < _SILENCE_S:
            with self._doing(f"reading {partition}"):
                messages = self._client.consume(_AT_ONCE, timeout=_WAIT_S)
            silent_s = 0.0 if messages else silent_s + _WAIT_S
            for message in messages:
                error = message.error()
                if (message.topic(), message.partition()) != partition:
                    continue  # left over from the partition read before
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    if cast("int", message.offset()) >= end:
                        return
                else:
                    with self._doing(f"reading {partition}"):
                        raise KafkaException(error)
        why = f": {self._complaints}" if str(self._complaints) else ""
        raise ClusterUnavailable(
            f"reading {partition} at {self._address}: no record for {_SILENCE_S:.0f} s{why}"
        )

    def _doing(self, doing: str) -> contextlib.AbstractContextManager[None]:
        return our_errors(f"{doing} at {self._address}", self._reported_errors)

    def _reported_errors(self) -> ReportedErrors:
        self._client.poll(0)  # this is what calls error_cb; after an error no record is at stake
        return self._complaints


def _record(message: Message) -> ConsumedRecord:
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:  # of message format 0; in format 2 that is -1
        kind, milliseconds = TIMESTAMP_CREATE_TIME, -1
    # The stubs allow for more: a consumed message has an offset, its header names are text.
    headers = cast("tuple[tuple[str, bytes | None], ...]", tuple(message.headers() or ()))
    offset = cast("int", message.offset())
    return ConsumedRecord(offset, message.key(), message.value(), headers, (milliseconds, kind))
