"""Produces one share of a topic in a transaction, and commits on command.

A process of its own, because one Python thread cannot write fast enough. It communicates
through its pipes: it prints ``loaded``, waits for a line, commits, prints ``open``. When the pipe
closes instead, the process that started it is gone, and it leaves without committing.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer

_DISTINCT = 2000
_WORDS = 2000
_PRODUCER = {
    "log_level": 2,  # serious errors are raised
    "compression.type": "lz4",
    "linger.ms": 20,
    "batch.size": 131072,  # about 70 KB once compressed
    "queue.buffering.max.messages": 200_000,
    "transaction.timeout.ms": 900_000,  # the most that a broker allows by default
}


@dataclass(frozen=True, slots=True)
class Share:
    """Some partitions of a topic, to be filled with ``records`` each."""

    bootstrap: str
    topic: str
    partitions: tuple[int, ...]
    records: int
    size: int


def values(size: int, seed: int = 7) -> list[bytes]:
    """Return distinct JSON documents of ``size`` bytes that lz4 shrinks to about a half."""
    chance = random.Random(seed)
    words = [f"{chance.getrandbits(48):012x}" for _ in range(_WORDS)]
    return [_document(number, size, chance, words) for number in range(_DISTINCT)]


def _document(number: int, size: int, chance: random.Random, words: list[str]) -> bytes:
    document = {"order": number, "amount": chance.randrange(10**6), "state": "paid", "note": ""}
    room = size - len(json.dumps(document))
    document["note"] = " ".join(chance.choices(words, k=room // 13 + 1))[:room]
    return json.dumps(document).encode()


def main() -> None:
    arguments = json.loads(sys.argv[1])
    share = Share(**{**arguments, "partitions": tuple(arguments["partitions"])})
    name = f"bench-{share.topic}-{share.partitions[0]}"
    client = {"bootstrap.servers": share.bootstrap, "transactional.id": name}
    producer = Producer({**client, **_PRODUCER})
    producer.init_transactions(60)
    producer.begin_transaction()
    write(producer, share)
    if left := producer.flush(120):
        sys.exit(f"{left} records of {share.topic} were not written within 120 s")
    print("loaded", flush=True)
    if not sys.stdin.readline():
        sys.exit(1)
    producer.commit_transaction(60)
    print("open", flush=True)


def write(producer: Producer, share: Share) -> None:
    """Write the share, its partitions in turn; every second record carries a header."""
    bodies = values(share.size)
    for number in range(share.records):
        record = {
            "value": bodies[number % _DISTINCT],
            "key": b"k%d" % (number % 10007),
            "headers": [("origin", b"bench")] if number % 2 else None,
        }
        for partition in share.partitions:
            _write(producer, share.topic, partition, record)


def _write(producer: Producer, topic: str, partition: int, record: dict[str, Any]) -> None:
    """Hand one record over, waiting while the producer's queue is full."""
    while True:
        try:
            producer.produce(topic, partition=partition, **record)
        except BufferError:
            producer.poll(0.05)
        else:
            return


if __name__ == "__main__":
    main()
