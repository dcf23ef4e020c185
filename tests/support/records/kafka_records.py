"""Produces and consumes records for tests."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.client.admin import TopicInfo
from replication.model import TopicPartition as Partition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_NOT_YET = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,
}
QUIET = {"log_level": 0, "socket.timeout.ms": 10_000}


class Rec(NamedTuple):
    """A record as a consumer sees it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    timestamp_type: int = TIMESTAMP_CREATE_TIME

    @property
    def content(self) -> tuple:
        """All but the offset: what a copy must keep."""
        return (self.partition, *self[2:])


def create_topic(
    bootstrap: str,
    topic: str,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    replication_factor: int = 1,
) -> str:
    """Create a topic, wait until its leaders are listed and answer, return its name."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    new = NewTopic(topic, partitions, replication_factor, config=dict(configs or {}))
    admin.create_topics([new])[topic].result(60)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        seen = admin.list_topics(topic, timeout=10).topics[topic]
        leaders = [each.leader for each in seen.partitions.values()]
        listed = seen.error is None and len(leaders) == partitions and min(leaders) >= 0
        if listed and _leaders_answer(admin, topic, partitions):
            return topic
        time.sleep(0.05)
    raise AssertionError(f"{topic} has no leaders after 120 s")


def _leaders_answer(admin: AdminClient, topic: str, partitions: int) -> bool:
    """Say whether each leader knows that it leads: brokers list one before it has heard of that."""
    asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
    try:
        for answer in admin.list_offsets(asked, request_timeout=5).values():
            answer.result()
    except KafkaException:
        return False
    return True


def set_config(bootstrap: str, topic: str, name: str, value: str) -> None:
    """Set a config of a topic, and wait until its broker has heard of that."""
    change = ConfigResource(ResourceType.TOPIC, topic)
    change.add_incremental_config(
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    )
    client = AdminClient({"bootstrap.servers": bootstrap, **QUIET})  # its calls end with it
    for answer in client.incremental_alter_configs([change]).values():
        answer.result(60)
    asked, deadline = ConfigResource(ResourceType.TOPIC, topic), time.monotonic() + 60
    while client.describe_configs([asked])[asked].result(60)[name].value != value:
        assert time.monotonic() < deadline, f"{topic}: {name} is not {value} after 60 s"
        time.sleep(0.05)


def delete_topics(bootstrap: str, *topics: str) -> None:
    """Delete topics, and wait until brokers do not list them."""
    client = AdminClient({"bootstrap.servers": bootstrap, **QUIET})  # its calls end with it
    for answer in client.delete_topics([*topics]).values():
        answer.result(60)
    deadline = time.monotonic() + 60
    while client.list_topics(timeout=10).topics.keys() & {*topics}:
        assert time.monotonic() < deadline, f"{topics} are listed after 60 s"
        time.sleep(0.05)


def delete_records(bootstrap: str, topic: str, before: Mapping[int, int]) -> None:
    """Delete the records before an offset of each partition, as retention does."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.list_topics(topic, timeout=10)  # a search for leaders may be lost, and costs 3 s then
    asked = [TopicPartition(topic, number, offset) for number, offset in before.items()]
    for each in admin.delete_records(asked).values():
        each.result(60)


def produce(
    bootstrap: str,
    topic: str,
    records: Iterable[Sequence],
    config: Mapping[str, object] | None = None,
    limit_s: float = 200,
    *,
    whole: bool = False,
) -> None:
    """Produce records and wait for every ack, at most ``limit_s``.

    A record is (partition, key, value) and may go on with headers and a timestamp in ms. ``whole``:
    those of a partition are one batch.
    """
    linger_ms = 10_000 if whole else 5  # a flush ends it
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": linger_ms, **QUIET, **(config or {})}
    )
    if whole:  # else librdkafka gives a flush's first records to their partition one by one
        producer.list_topics(topic, limit_s)
    _deliver(producer, topic, records, limit_s)


def produce_in_turn(
    bootstrap: str,
    topic: str,
    portions: Iterable[Iterable[Sequence]],
    config: Mapping[str, object] | None = None,
) -> None:
    """Produce portions of records, each one after the acks of those before it: no batch has two."""
    producer = Producer({"bootstrap.servers": bootstrap, **QUIET, **(config or {})})
    for each in portions:
        _deliver(producer, topic, each, 200)


def _deliver(producer: Producer, topic: str, records: Iterable[Sequence], limit_s: float) -> None:
    errors: list[KafkaError] = []
    for partition, key, value, *rest in records:
        headers = list(rest[0]) if rest and rest[0] else None
        more = {"timestamp": rest[1]} if len(rest) > 1 else {}
        while True:
            try:
                producer.produce(
                    topic,
                    value,
                    key,
                    partition,
                    on_delivery=lambda error, _: errors.append(error) if error else None,
                    headers=headers,
                    **more,
                )
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(limit_s) == 0, f"records were not acked within {limit_s:g} s"
    if errors:
        raise KafkaException(errors[0])


def some_records(count: int, partitions: int = 1, seed: int = 1) -> list[tuple]:
    """Return records of mixed sizes, with and without keys and headers, reproducibly."""
    chance = random.Random(seed)
    now = 1_700_000_000_000
    return [
        (
            number % partitions,
            b"key-%d" % chance.randrange(100) if chance.random() < 0.9 else None,
            chance.randbytes(chance.choice((0, 10, 100, 1000))),
            [("n", b"%d" % number), ("empty", None)] if chance.random() < 0.5 else None,
            now + number,
        )
        for number in range(count)
    ]


def consume_all(
    bootstrap: str,
    topic: str,
    isolation: str = "read_uncommitted",
    timeout_s: float = 60,
) -> list[Rec]:
    """Return every record that is in the topic now, ordered by partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tests",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": isolation,
            "fetch.wait.max.ms": 20,  # a broker says that a log has ended when this is over
            **QUIET,
        }
    )
    try:
        return sorted(_read_to_end(consumer, topic, time.monotonic() + timeout_s))
    finally:
        consumer.close()


class Reader:
    """Reads a topic as a whole, and again only when its end has moved."""

    def __init__(self, bootstrap: str, topic: str, isolation: str = "read_uncommitted") -> None:
        self._where = bootstrap, topic
        self._isolation = isolation
        self._admin = KafkaAdmin({"bootstrap.servers": bootstrap})
        self._ends: dict[Partition, int] = {}
        self._found: list[Rec] = []

    def read(self) -> list[Rec]:
        """Return every record that is in the topic now; none if there is no such topic yet."""
        if (end_offsets := self._end_offsets()) != self._ends:
            self._ends, self._found = end_offsets, consume_all(*self._where, self._isolation)
        return self._found

    def offsets(self) -> int:
        """Return the number of offsets in the topic now; 0 if there is no such topic yet."""
        return sum(self._end_offsets().values())

    def _end_offsets(self) -> dict[Partition, int]:
        topic = self._where[1]
        known = self._admin.look_up([topic])[topic]
        count = known.partitions if isinstance(known, TopicInfo) else 0
        return self._admin.end_offsets(Partition(topic, n) for n in range(count))


def _read_to_end(consumer: Consumer, topic: str, deadline: float) -> Iterable[Rec]:
    while not (partitions := consumer.list_topics(topic, timeout=10).topics[topic].partitions):
        assert time.monotonic() < deadline, f"{topic}: the cluster does not know it"
        time.sleep(0.1)
    starts = [TopicPartition(topic, each) for each in partitions]
    end_offsets = {}
    for start in starts:
        start.offset, end_offsets[start.partition] = _bounds(consumer, start, deadline)
    consumer.assign(starts)
    open_partitions = set(partitions)
    while open_partitions:
        assert time.monotonic() < deadline, f"{topic}: no end of partitions {open_partitions}"
        for message in consumer.consume(500, 0.02):  # it waits for all 500, or for the time
            if message.error() is None:
                yield _record(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                if (
                    message.offset() >= end_offsets[message.partition()]
                ):  # a new leader may lag a little
                    open_partitions.discard(message.partition())
            else:
                raise KafkaException(message.error())


def _bounds(consumer: Consumer, partition: TopicPartition, deadline: float) -> tuple[int, int]:
    """Return start and end of a partition, which may be too new for its leader to know of it."""
    while True:
        try:
            return consumer.get_watermark_offsets(partition, timeout=10)
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _record(message) -> Rec:
    kind, timestamp = message.timestamp()
    headers = tuple((name, value) for name, value in message.headers() or ())
    return Rec(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        headers,
        timestamp,
        kind,
    )
