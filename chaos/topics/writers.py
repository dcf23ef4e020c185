"""Produces unique records to the source continuously, through all faults."""

from __future__ import annotations

import random
import threading
import time
import zlib
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from chaos.topics.chaos_topics import Writing
from chaos.topics.transformed_topics import avro
from replication.adapters.topics.record_writer import NOW, RecordToProduce, RecordWriter
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chaos.topics.chaos_topics import ChaosTopic

_TICK_S = 0.05
_FLUSH_S = 120.0
_SIZES = (0, 10, 100, 100, 300, 1_000, 5_000)
_CLIENT = {"log_level": 0, "topic.metadata.refresh.interval.ms": 1_000}  # partitions are added
_MOST_OPEN_S = 2.0  # for which a transaction stays open
_DAY_MS = 86_400_000
_OF_SCHEMA = 500  # records in Avro; the next ones have another schema


class RecordToWrite(NamedTuple):
    """A record to write."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


def events(topic: ChaosTopic, chance: random.Random) -> Iterator[RecordToWrite]:
    """Yield records of all shapes without end: null keys, tombstones, headers once or twice."""
    number = 0
    while True:
        number += 1
        many = topic.keys or number
        keyed = topic.keys is not None or chance.random() < 0.8
        key = b"key-%d" % (number % many if topic.keys else number) if keyed else None
        tombstone = chance.random() < 0.1
        value = None if tombstone else _value(topic, number, chance)
        headers: list[tuple[str, bytes]] = []
        if value is None or chance.random() < 0.3:
            headers = [("n", b"%d" % number), ("empty", b""), ("n", b"\xff")]
        yield RecordToWrite(key, value, headers)


def _value(topic: ChaosTopic, number: int, chance: random.Random) -> bytes:
    if topic.avro:
        return avro(1 + number // _OF_SCHEMA, number)
    return b"%d:" % number + chance.randbytes(chance.choice(_SIZES))


class Writers:
    """A thread for each topic. ``partitions`` says how many a topic has, and may change."""

    def __init__(
        self,
        topics: tuple[ChaosTopic, ...],
        client: Mapping[str, str],
        partitions: Mapping[str, int],
        seed: int,
    ) -> None:
        self.problems: list[str] = []  # errors of the source
        self._over = threading.Event()
        self._feeds = [Feed(each, client, partitions, seed + n) for n, each in enumerate(topics)]
        self._threads = [
            threading.Thread(target=self._write, args=(feed,), daemon=True) for feed in self._feeds
        ]

    @property
    def written(self) -> int:
        """How many records were handed over, also in transactions that are aborted."""
        return sum(each.written for each in self._feeds)

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        """End all writing; returns when everything is acked, committed or aborted."""
        self._over.set()
        for each in self._threads:
            each.join(_FLUSH_S + 10)

    def _write(self, feed: Feed) -> None:
        write = _transactions if feed.topic.writing is Writing.TRANSACTIONS else _records
        while True:
            try:
                write(feed, self._over)
            except (ClusterRejected, ClusterUnavailable, KafkaException) as error:
                self.problems.append(f"{feed.topic.name}: {error}")
                if self._over.wait(1.0):  # else again, with a producer of its own
                    return
            else:
                return


class Feed:
    """What is to be written into one topic, at its rate."""

    def __init__(
        self, topic: ChaosTopic, client: Mapping[str, str], partitions: Mapping[str, int], seed: int
    ) -> None:
        self.topic, self.client = topic, client
        self.written = 0
        self.chance = random.Random(seed)
        self._events = events(topic, self.chance)
        self._partitions = partitions
        self._began = self._sent_at = time.monotonic()

    def due(self) -> int:
        """Return how many records are due; what was missed during an outage is not made up for."""
        now = time.monotonic()
        if (now - self._began) % (1.0 + self.topic.pause_s) >= 1.0:
            self._sent_at = now
            return 0
        count = int(min(now - self._sent_at, 1.0) * self.topic.rate)
        if count:
            self._sent_at = now
        return count

    def timestamp_ms(self) -> int:
        """Return the timestamp of a record that is written now."""
        days = self.topic.age_days
        return int(time.time() * 1000 - days * _DAY_MS) if days else NOW

    def next(self) -> tuple[RecordToWrite, int]:
        """Return the next record and its partition."""
        event = next(self._events)
        many = self._partitions[self.topic.name]
        # A key stays in its partition only where the last value of a key is compared.
        self.written += 1
        if self.topic.keys:
            return event, zlib.crc32(event.key or b"") % self.topic.partitions
        return event, self.chance.randrange(many)


def _records(feed: Feed, over: threading.Event) -> None:
    """Write plain records until ``over``. Raises ClusterRejected, ClusterUnavailable."""
    client = {**_CLIENT, **feed.client, "linger.ms": feed.topic.linger_ms}
    writer = RecordWriter(client, feed.topic.codec)
    while not over.wait(_TICK_S):
        for _ in range(feed.due()):
            event, partition = feed.next()
            record = RecordToProduce(*event, partition, feed.timestamp_ms())
            while not writer.send(feed.topic.name, record):
                writer.wait(0.1)
        writer.wait()
    writer.flush(_FLUSH_S)


def _transactions(feed: Feed, over: threading.Event) -> None:
    """Write transactions, some of which are aborted, until ``over``. Raises KafkaException."""
    producer = Producer(
        {
            **feed.client,
            **_CLIENT,
            "transactional.id": feed.topic.name,
            "transaction.timeout.ms": 15_000,
            "compression.type": feed.topic.codec,
            "linger.ms": feed.topic.linger_ms,
        }
    )
    _until_done(lambda: producer.init_transactions(30))
    while not over.is_set():
        producer.begin_transaction()
        until = time.monotonic() + feed.chance.uniform(0.0, _MOST_OPEN_S)
        try:
            while time.monotonic() < until and not over.wait(_TICK_S):
                for _ in range(feed.due()):
                    event, partition = feed.next()
                    _produce(producer, feed.topic.name, event, partition)
            if feed.chance.random() < 0.3:
                producer.flush(5)  # so that there is something to abort
                _until_done(lambda: producer.abort_transaction(30))
            else:
                _until_done(lambda: producer.commit_transaction(30))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            _until_done(lambda: producer.abort_transaction(30))


def _produce(producer: Producer, topic: str, event: RecordToWrite, partition: int) -> None:
    while True:
        try:
            producer.produce(
                topic, event.value, event.key, partition, headers=list(event.headers) or None
            )
        except BufferError:
            producer.poll(0.1)
        else:
            producer.poll(0)
            return


def _until_done(call: Callable[[], object]) -> None:
    """Repeat a call until the cluster has answered it; what may not be repeated is raised."""
    deadline = time.monotonic() + _FLUSH_S
    while True:
        try:
            call()
        except KafkaException as error:
            kafka_error: KafkaError = error.args[0]
            if not kafka_error.retriable() or time.monotonic() > deadline:
                raise
        else:
            return
