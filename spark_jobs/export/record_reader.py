"""Reads given offsets of one partition, in a Spark task."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from replication.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class ExportedRanges(NamedTuple):
    """Offsets of one partition to export: ranges of records without a gap, in order."""

    topic: str
    partition: int
    ranges: Sequence[OffsetRange]
    of_target: bool = False  # committed records of the flow's target, instead of its source


class ExportedRecord(NamedTuple):
    """One record as Parquet holds it; ``timestamp`` in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytearray | None
    value: bytearray | None
    headers: list[tuple[str, bytearray | None]]


def read_ranges(config: str, flow: str, asked: ExportedRanges) -> Iterator[ExportedRecord]:
    """Yield the records. The task reads the file itself: its secrets are in no task and no log.

    Raises ClusterUnavailable, ClusterRejected.
    """
    from replication.adapters.auth.client_config import to_librdkafka  # noqa: PLC0415 - workers only
    from replication.adapters.topics.record_reader import RecordReader  # noqa: PLC0415 - as above
    from replication.config.load import load_config  # noqa: PLC0415 - as above

    clients = load_config(Path(config)).config.flow(flow).clients
    where = TopicPartition(asked.topic, asked.partition)
    asked_for = iter(asked.ranges)
    span = next(asked_for)
    if asked.of_target:
        reader = RecordReader(to_librdkafka(clients.target_admin), "read_committed")
    else:
        # The offsets say which records are meant, so that no isolation level leaves any out.
        reader = RecordReader(to_librdkafka(clients.source_consumer), "read_uncommitted")
    with closing(reader):
        for each in reader.read(where, asked.ranges[-1].end, span.start):
            if each.offset >= span.end:
                span = next(asked_for)
            if each.offset >= span.start:
                headers = [(name, _bytes(value)) for name, value in each.headers]
                key, value = _bytes(each.key), _bytes(each.value)
                yield ExportedRecord(*where, each.offset, each.time[0], key, value, headers)


def _bytes(value: bytes | None) -> bytearray | None:
    return None if value is None else bytearray(value)


def json_line(record: Any) -> str:
    """Return an ``ExportedRecord`` as one line for people: text where it is UTF-8, else base64."""
    return json.dumps(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": _readable(record.key),
            "value": _readable(record.value),
            "headers": [[name, _readable(value)] for name, value in record.headers],
        },
        ensure_ascii=False,
    )


def _readable(value: bytes | bytearray | None) -> Any:
    if value is None:
        return None
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
