"""Where a secret must not be: looks for planted ones in files, arguments and topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
from confluent_kafka import Consumer, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MARK = b"hush-of-"  # every planted secret begins with it


def in_files(*roots: Path) -> list[str]:
    """Return the files under ``roots`` that hold a planted secret; there must be some files."""
    files = [file for root in roots for file in (root, *root.rglob("*")) if file.is_file()]
    assert files
    return [str(file) for file in files if MARK in _bytes(file)]


def in_arguments() -> list[list[str]]:
    """Return the command lines on this machine that hold one."""
    found = [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]
    assert found
    return [each for each in found if MARK.decode() in " ".join(each)]


def in_topics(bootstrap: str, topics: Iterable[str]) -> list[str]:
    """Return the topics with a record, from the log's first, that holds one in any part of it."""
    return [topic for topic in topics if any(MARK in each for each in _records(bootstrap, topic))]


def _records(bootstrap: str, topic: str) -> Iterator[bytes]:
    client = {"bootstrap.servers": bootstrap, "group.id": "planted", "enable.auto.commit": False}
    consumer = Consumer({**client, "enable.partition.eof": True, "auto.offset.reset": "earliest"})
    partitions = consumer.list_topics(topic, 20).topics[topic].partitions
    consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
    left = len(partitions)
    while left:
        (record,) = consumer.consume(1, 20) or (None,)
        assert record is not None, f"{topic} was not read to its end"
        if record.error():
            left -= 1
            continue
        yield repr((record.key(), record.value(), record.headers())).encode()
    consumer.close()


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:  # removed meanwhile
        return b""
