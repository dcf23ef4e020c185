"""Where a secret must not be: looks for planted ones in text, files, arguments and topics."""

from __future__ import annotations

import base64
import contextlib
import gzip
import zlib
from typing import TYPE_CHECKING
from urllib.parse import quote

import psutil
from confluent_kafka import Consumer, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MARK = b"hush-of-"  # every planted secret begins with it
_GZIP = b"\x1f\x8b"


def _forms() -> tuple[bytes, ...]:
    """Return the mark as it is, percent-encoded, in hexadecimal, in UTF-16, and within base64.

    Base64 depends on how many bytes are before it, and its first and last characters on those.
    """
    inner = [base64.b64encode(bytes(before) + MARK)[4 * (before > 0) : -4] for before in range(3)]
    utf_16 = MARK.decode().encode("utf-16-le")
    percent = quote(MARK.decode(), safe="").replace("-", "%2D").encode()
    return (MARK, percent, MARK.hex().encode(), utf_16, *inner)


_FORMS = _forms()


def in_bytes(content: bytes) -> bool:
    """Say whether a planted secret is in there, in any of its forms, packed or not."""
    if content.startswith(_GZIP):
        with contextlib.suppress(OSError, EOFError, zlib.error):  # it only looks so
            content += gzip.decompress(content)
    return any(form in content for form in _FORMS)


def in_files(*roots: Path) -> list[str]:
    """Return the files under ``roots`` that hold a planted secret; there must be some files.

    The name of a file may hold one, too.
    """
    files = [file for root in roots for file in (root, *root.rglob("*")) if file.is_file()]
    assert files
    return [str(each) for each in files if in_bytes(str(each).encode()) or in_bytes(_bytes(each))]


def in_arguments() -> list[list[str]]:
    """Return the command lines on this machine that hold one."""
    found = [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]
    assert found
    return [each for each in found if in_bytes(" ".join(each).encode())]


def in_topics(bootstrap: str, topics: Iterable[str]) -> list[str]:
    """Return the topics with a record, from the log's first, that holds one in any part of it."""
    return [topic for topic in topics if any(in_bytes(each) for each in _records(bootstrap, topic))]


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
