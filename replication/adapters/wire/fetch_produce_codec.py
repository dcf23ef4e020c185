"""Encodes Fetch and Produce requests and decodes their responses, without copying records. Pure.

Fetch 13 to 16 (by topic id, KIP-516; in sessions, KIP-227) and Produce 9 to 12; field order as in
Kafka's message definitions FetchRequest.json and ProduceRequest.json. All other requests are
kafka-python's.
"""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING, Any, TypeVar

from replication.adapters.wire.legacy_records import to_format_2
from replication.client.fetch_values import EpochEndOffset, Fetched, FetchEntry, Leader
from replication.client.network import Ack
from replication.records.aborted_filter import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.client.fetch_session import FetchOptions

PRODUCE, FETCH = 0, 1
CONSUMER_REPLICA_ID = -1  # the client is no broker
_NO_SESSION_ID, _FINAL_EPOCH = 0, -1  # of a Fetch without a session (FetchMetadata.LEGACY)
_NO_LOG_START = -1  # only followers send theirs
_ACKS_ALL = -1
_HEAD = struct.Struct(">hhi")
_FETCH_HEAD = struct.Struct(">iiibii")
_ENTRY = struct.Struct(">iiqiqiB")
_PARTITION = struct.Struct(">ihqqq")
_ABORTED = struct.Struct(">qqx")  # without its tags
_PRODUCE_HEAD = struct.Struct(">hi")
_ACK = struct.Struct(">ihqqq")
_DIVERGING, _CURRENT_LEADER = 0, 1  # tags of a partition in a Fetch response
_EPOCH_AND_END = struct.Struct(">iq")
_LEADER = struct.Struct(">ii")
_Entry = TypeVar("_Entry", bound=tuple[Any, ...])
_NO_TAGS = b"\0"
_NO_ERROR = b"\1\0\0"  # no rejected records, no message, no tags
_NULL = b"\0"  # a null compact string
MALFORMED = (struct.error, IndexError, ValueError)  # raised by decoding a damaged response


def uvarint(value: int) -> bytes:
    """Encode an unsigned number, seven bits a byte, low ones first."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(frame: memoryview, at: int) -> tuple[int, int]:
    """Return the number at ``at`` and the position after it. Raises ValueError beyond 35 bits."""
    result = 0
    for shift in range(0, 35, 7):
        byte = frame[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
    raise ValueError("a number of more than 32 bits")


@functools.lru_cache(4096)  # of topics, for the most part
def compact(text: str) -> bytes:
    """Encode a compact string."""
    raw = text.encode()
    return uvarint(len(raw) + 1) + raw


def request_head(key: int, version: int, correlation: int, client_id: str) -> bytes:
    """Return a request header of version 2 (flexible)."""
    return _HEAD.pack(key, version, correlation) + _client(client_id)


@functools.cache
def _client(client_id: str) -> bytes:
    """Encode the rest of a header; a process has one client id per unit."""
    raw = client_id.encode()
    return struct.pack(">h", len(raw)) + raw + _NO_TAGS


def fetch_request(entries: Sequence[FetchEntry], options: FetchOptions, version: int) -> bytes:
    """Return a Fetch body. ``entries`` of a topic are adjacent."""
    session = options.session
    out = bytearray()
    if version < 15:  # later versions carry the replica id as a tagged field
        out += struct.pack(">i", CONSUMER_REPLICA_ID)
    out += _FETCH_HEAD.pack(
        options.max_wait_ms,
        options.min_bytes,
        options.max_bytes,
        options.isolation,
        session.id if session else _NO_SESSION_ID,
        session.epoch if session else _FINAL_EPOCH,
    )
    topics = _by_topic(entries)
    out += uvarint(len(topics) + 1)
    for listed in topics:
        out += listed[0].topic_id + uvarint(len(listed) + 1)
        for _, partition, offset, leader_epoch, last_epoch in listed:
            out += _ENTRY.pack(
                partition,
                leader_epoch,
                offset,
                last_epoch,
                _NO_LOG_START,
                options.partition_bytes,
                0,
            )
        out += _NO_TAGS
    out += _forgotten(session.forgotten if session else ())
    return bytes(out + compact(options.rack) + _NO_TAGS)


def _by_topic(entries: Iterable[_Entry]) -> list[list[_Entry]]:
    """Return runs of entries with the same topic, their first field."""
    topics: list[list[_Entry]] = []
    for each in entries:
        if topics and topics[-1][0][0] == each[0]:
            topics[-1].append(each)
        else:
            topics.append([each])
    return topics


def _forgotten(partitions: Iterable[tuple[bytes, int]]) -> bytes:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in partitions:
        topics.setdefault(topic_id, []).append(partition)
    out = bytearray(uvarint(len(topics) + 1))
    for topic_id, listed in topics.items():
        out += topic_id + uvarint(len(listed) + 1)
        out += struct.pack(f">{len(listed)}i", *listed) + _NO_TAGS
    return bytes(out)


def fetch_throttle_ms(frame: memoryview) -> int:
    """Return for how long a Fetch response says that its broker throttles us."""
    return _int(frame, 4 + 1)  # after correlation id and header tags


def fetch_response(frame: memoryview) -> tuple[int, int, list[Fetched]]:
    """Return the response's error code, its session id, and its partitions.

    ``frame`` begins with the correlation id. Record data is not copied.
    """
    at = 4 + 1 + 4  # correlation id, header tags, throttle time
    error, session = struct.unpack_from(">hi", frame, at)
    topics, at = read_uvarint(frame, at + 6)
    found: list[Fetched] = []
    for _ in range(topics - 1):
        topic_id = bytes(frame[at : at + 16])
        partitions, at = read_uvarint(frame, at + 16)
        for _ in range(partitions - 1):
            each, at = _fetched(frame, at, topic_id)
            found.append(each)
        at = skip_tags(frame, at)
    return error, session, found


def _fetched(frame: memoryview, at: int, topic_id: bytes) -> tuple[Fetched, int]:
    partition, error, high, stable, start = _PARTITION.unpack_from(frame, at)
    count, at = read_uvarint(frame, at + _PARTITION.size)
    aborted = [
        AbortedTransaction(*_ABORTED.unpack_from(frame, at + number * _ABORTED.size))
        for number in range(count - 1)
    ]
    at += max(count - 1, 0) * _ABORTED.size
    replica = int.from_bytes(frame[at : at + 4], "big", signed=True)
    size, at = read_uvarint(frame, at + 4)
    size = max(size - 1, 0)
    records = frame[at : at + size]
    tags, at = _tags(frame, at + size)
    diverging = tags.get(_DIVERGING)
    leader = tags.get(_CURRENT_LEADER)
    found = Fetched(
        *(topic_id, partition, error, high, stable, start, aborted, replica, records),
        EpochEndOffset(*_EPOCH_AND_END.unpack_from(diverging)) if diverging else None,
        Leader(*_LEADER.unpack_from(leader)) if leader else None,
        to_format_2,
    )
    return found, at


def _tags(frame: memoryview, at: int) -> tuple[dict[int, memoryview], int]:
    """Return the fields of a tag section and the position after it."""
    if frame[at] == 0:
        return {}, at + 1
    count, at = read_uvarint(frame, at)
    fields = {}
    for _ in range(count):
        tag, at = read_uvarint(frame, at)
        size, at = read_uvarint(frame, at)
        fields[tag] = frame[at : at + size]
        at += size
    return fields, at


def produce_request(
    batches: Iterable[tuple[str, int, memoryview]], timeout_ms: int, transactional_id: str = ""
) -> list[bytes | memoryview]:
    """Return a Produce body (acks=all) as buffers; the batches are not copied.

    ``batches`` of a topic are adjacent, one per partition.
    """
    topics = _by_topic(batches)
    buffers: list[bytes | memoryview] = []
    encoded_id = compact(transactional_id) if transactional_id else _NULL
    head = bytearray(
        encoded_id + _PRODUCE_HEAD.pack(_ACKS_ALL, timeout_ms) + uvarint(len(topics) + 1)
    )
    for listed in topics:
        head += compact(listed[0][0]) + uvarint(len(listed) + 1)
        for _, partition, batch in listed:
            head += struct.pack(">i", partition) + uvarint(len(batch) + 1)
            buffers += [bytes(head), batch]
            head = bytearray(_NO_TAGS)
        head += _NO_TAGS
    return [*buffers, bytes(head + _NO_TAGS)]


def produce_response(frame: memoryview) -> tuple[list[Ack], int]:
    """Return the ack of each partition, and for how many ms the broker throttles us.

    ``frame`` begins with the correlation id.
    """
    topics, at = read_uvarint(frame, 5)
    acks: list[Ack] = []
    for _ in range(topics - 1):
        length, at = read_uvarint(frame, at)
        topic = str(frame[at : at + length - 1], "utf-8")
        partitions, at = read_uvarint(frame, at + length - 1)
        for _ in range(partitions - 1):
            partition, error, base, _, _ = _ACK.unpack_from(frame, at)
            at += _ACK.size
            if frame[at : at + 3] == _NO_ERROR:
                message, at = "", at + 3
            else:
                message, at = _produce_errors(frame, at)
                at = skip_tags(frame, at)
            acks.append(Ack(topic, partition, error, base, message))
        at = skip_tags(frame, at)
    return acks, _int(frame, at)


def _produce_errors(frame: memoryview, at: int) -> tuple[str, int]:
    """Skip the list of rejected records and return the partition's error message."""
    count, at = read_uvarint(frame, at)
    detail = ""
    for _ in range(count - 1):
        text, at = _nullable(frame, at + 4)
        detail = detail or text
        at = skip_tags(frame, at)
    message, at = _nullable(frame, at)
    return message or detail, at


def _nullable(frame: memoryview, at: int) -> tuple[str, int]:
    length, at = read_uvarint(frame, at)
    size = max(length - 1, 0)
    return str(frame[at : at + size], "utf-8"), at + size


def _int(frame: memoryview, at: int) -> int:
    (value,) = struct.unpack_from(">i", frame, at)
    return int(value)


def skip_tags(frame: memoryview, at: int) -> int:
    """Return the position after a tag section."""
    return _tags(frame, at)[1]
