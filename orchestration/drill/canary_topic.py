"""The canary topic on one cluster: written, read, and the group's positions in it."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.record_reader import RecordReader
from replication.adapters.topics.record_writer import RecordToProduce, RecordWriter
from replication.clock import now_ms
from replication.model import TopicPartition
from replication.recovery.canaries import Canary, FoundRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.settings.flow_settings import Flow

_ACKED_S = 30.0
_TICK_S = 0.1
_REPLICAS = 3
_CONFIGS = {"retention.ms": "604800000", "message.timestamp.type": "CreateTime"}


@dataclass(slots=True)
class CanaryTopic:
    """One of the two: of ``alias``, a cluster that ``reads`` copies from and ``writes`` copies to.

    Raises ClusterUnavailable, ClusterRejected.
    """

    name: str
    partitions: int
    alias: str
    drill: str  # its id
    reads: Flow
    writes: Flow
    written: list[Canary] = field(default_factory=list)  # and acked

    def create(self) -> None:
        """Create it, with as many replicas as there are brokers, up to three."""
        admin = KafkaAdmin(to_librdkafka(self.reads.clients.source_admin))
        replicas = min(_REPLICAS, admin.broker_count())
        admin.create_topic(self.name, self.partitions, replicas, _CONFIGS)

    @property
    def places(self) -> tuple[TopicPartition, ...]:
        return tuple(TopicPartition(self.name, number) for number in range(self.partitions))

    def writer(self) -> RecordWriter:
        """Return a producer for it."""
        return RecordWriter(to_librdkafka(self.writes.clients.target_producer))

    def write(self, count: int, writer: RecordWriter | None = None) -> None:
        """Write so many records, and return when all are acked."""
        writer = writer or self.writer()
        at, begin = now_ms(), len(self.written)
        new = [Canary(self.drill, self.alias, begin + n, at) for n in range(count)]
        for each in new:
            number = each.number % self.partitions
            record = RecordToProduce(each.key, each.value, partition=number, timestamp_ms=at)
            while not writer.send(self.name, record):
                writer.wait(_TICK_S)
        writer.flush(_ACKED_S)
        self.written += new

    def read(self) -> list[FoundRecord]:
        """Return all records, in the order of each partition."""
        return [each for where in self.places for each in self._read(where)]

    def from_on(self, positions: Mapping[TopicPartition, int]) -> list[FoundRecord]:
        """Return the records at and behind these offsets, in the order of each partition."""
        return [each for where, at in sorted(positions.items()) for each in self._read(where, at)]

    def first_at(
        self, positions: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, FoundRecord]:
        """Return the first record at or behind each offset, where there is one."""
        found = {}
        for where, at in sorted(positions.items()):
            for each in self._read(where, at):
                found[where] = each
                break
        return found

    def ends(self) -> dict[TopicPartition, int]:
        """Return the end of each partition."""
        with closing(self._reader()) as reader:
            return {each: reader.bounds(each).end for each in self.places}

    def _read(self, where: TopicPartition, begin: int = 0) -> Iterator[FoundRecord]:
        with closing(self._reader()) as reader:
            for each in reader.read(where, reader.bounds(where).end, begin):
                yield FoundRecord(where.partition, each.offset, each.key, each.value, each.time[0])

    def _reader(self) -> RecordReader:
        return RecordReader(to_librdkafka(self.reads.clients.source_consumer), "read_committed")


class SteadyWriter:
    """Writes to a canary topic in the background, at a steady rate, while the block runs."""

    def __init__(self, topic: CanaryTopic, rate: int) -> None:
        self._topic, self._rate = topic, rate
        self._over = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _run(self) -> None:
        began, sent = time.monotonic(), 0
        try:
            writer = self._topic.writer()
            while not self._over.wait(_TICK_S):
                due = int((time.monotonic() - began) * self._rate) - sent
                self._topic.write(due, writer)
                sent += due
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            self._problem = error
