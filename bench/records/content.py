"""Compares a copy with its source by counts and order-sensitive digests per partition."""

from __future__ import annotations

import hashlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

_READER = {
    "group.id": "bench",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "queued.max.messages.kbytes": 65536,
}

Digest = tuple[int, str]  # records, hex digest of all of them in order


def differences(source: tuple[str, str], target: tuple[str, str], partitions: int) -> list[str]:
    """Compare two topics, each given as (bootstrap servers, topic). Empty: they are equal.

    The source is read as a consumer of committed records sees it, the target as any consumer
    does: an aborted copy on the target would be a difference.
    """
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        expected = pool.submit(digests, *source, partitions, "read_committed")
        found = pool.submit(digests, *target, partitions, "read_uncommitted")
        pairs = list(zip(expected.result(), found.result(), strict=True))
    return [
        f"{target[1]}-{partition}: {there[0]} records where the source has {here[0]}"
        if here[0] != there[0]
        else f"{target[1]}-{partition}: {here[0]} records on both sides, but not the same"
        for partition, (here, there) in enumerate(pairs)
        if here != there
    ]


def digests(bootstrap: str, topic: str, partitions: int, isolation: str) -> list[Digest]:
    """Read a whole topic; return a digest of key, value, headers, timestamp and order each."""
    return [_digest(bootstrap, topic, each, isolation) for each in range(partitions)]


def _digest(bootstrap: str, topic: str, partition: int, isolation: str) -> Digest:
    consumer = Consumer({**_READER, "bootstrap.servers": bootstrap, "isolation.level": isolation})
    consumer.assign([TopicPartition(topic, partition, 0)])
    count, digest = 0, hashlib.blake2b(digest_size=16)
    try:
        while True:
            for message in consumer.consume(10_000, 1.0):
                if error := message.error():
                    if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
                        return count, digest.hexdigest()
                    raise KafkaException(error)
                digest.update(fingerprint(message))
                count += 1
    finally:
        consumer.close()


def fingerprint(message: Message) -> bytes:
    """Return bytes that differ whenever anything that a consumer sees differs."""
    value = message.value()
    seen = (message.key(), message.timestamp(), message.headers(), value is None)
    return repr(seen).encode() + (value or b"")
