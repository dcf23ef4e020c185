"""Measures replication latency at a low, even rate of records."""

from __future__ import annotations

import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.figures import Figures, percentile
from bench.records.gate import BenchFailed

_RATE = 1000
_ENOUGH = 0.95  # of the records written must have been seen


def latency(source: str, target: str, topics: tuple[str, str], seconds: float) -> Figures:
    """Write to the first topic at an even rate, watch the second, return p50, p99 and the worst.

    A record's own timestamp, set when it is written, is the start; its arrival at a
    consumer of the target is the end. The first second is not counted.
    """
    consumer = _consumer(target, topics[1])
    writer = threading.Thread(target=_write, args=(source, topics[0], seconds), daemon=True)
    writer.start()
    try:
        seen = _watch(consumer, int(seconds * _RATE))
    finally:
        writer.join()
        consumer.close()
    if len(seen) < seconds * _RATE * _ENOUGH:
        raise BenchFailed(f"{topics[1]}: {len(seen)} of {seconds * _RATE:.0f} records arrived")
    late = seen[_RATE:]
    return {"p50_ms": percentile(late, 50), "p99_ms": percentile(late, 99), "max_ms": max(late)}


def _consumer(bootstrap: str, topic: str) -> Consumer:
    options = {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer({**options, "fetch.wait.max.ms": 5, "auto.offset.reset": "earliest"})
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    return consumer


def _write(bootstrap: str, topic: str, seconds: float) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    partitions = len(producer.list_topics(topic, 10).topics[topic].partitions)
    began, number, total = time.monotonic(), 0, int(seconds * _RATE)
    while number < total:
        due = min(total, int((time.monotonic() - began) * _RATE))
        for each in range(number, due):
            producer.produce(topic, b"x" * 1000, b"k", partition=each % partitions)
        number = max(number, due)
        producer.poll(0.001)
    producer.flush(10)


def _watch(consumer: Consumer, count: int) -> list[float]:
    late: list[float] = []
    quiet = 0
    while len(late) < count and quiet < 50:
        message = consumer.poll(0.2)
        if message is None or message.error():
            quiet += 1
            continue
        quiet = 0
        late.append(time.time() * 1000 - message.timestamp()[1])
    return late
