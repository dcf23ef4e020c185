"""A record between its source and its targets, and what becomes of it. Pure."""

from __future__ import annotations

from typing import NamedTuple

Headers = tuple[tuple[str, bytes | None], ...]

SAME_PARTITION = -1  # the number of the source partition
BY_KEY = -2  # as Kafka's clients choose by the key


class SourceRecord(NamedTuple):
    """One record as it was read; ``timestamp`` in ms, -1: none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class TargetRecord(NamedTuple):
    """One record to write; ``partition`` may be SAME_PARTITION or BY_KEY."""

    topic: str
    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class PoisonRecord(NamedTuple):
    """A record that cannot be transformed, and why, in one line."""

    record: SourceRecord
    reason: str
