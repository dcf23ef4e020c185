"""Messages of formats 0 and 1, as Kafka 3.9.1 wrote them for ``message.format.version``."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from support.copier.partition_copies import a_partition, a_start, by_registry

from replication.adapters.wire.legacy_records import _with_right_checksum, to_format_2
from replication.client.fetch_values import FetchBuffer, Fetched
from replication.copier.partition.intake import take
from replication.errors import CorruptBatch
from replication.records import compression
from replication.records.batch import OLD_FORMAT, producer_ids, walk
from replication.records.codec import decode, key_and_value, reshape

SEGMENTS = {
    each.stem: each.read_bytes() for each in Path(__file__).parents[2].glob("old_segments/*")
}
ONE_BY_ONE = {"v0-none", "v1-none"}
CRC_AT, COVERED_FROM = 12, 16


def read(data: bytes, where: str = "t-0"):
    return walk(memoryview(data), where, to_format_2)


def first_of(data: bytes) -> bytes:
    """Return the first message of a segment, as it lies."""
    return data[: 12 + int.from_bytes(data[8:12], "big")]


def content(data: bytes):
    """Return offset, timestamp, key and value of each record."""
    return [
        (each.offset, each.timestamp, *key_and_value(each))
        for batch in read(data)
        for each in decode(batch, "t-0")
    ]


def produced(name: str):
    """Return what was produced for a segment: two batches with a null key and a null value."""
    for batch in range(2):
        for n in range(4):
            key = None if n == 2 else b"k%d" % n
            value = b"value %d of %s in batch %d " % (n, name.encode(), batch) * 3
            stamp = 1_500_000_000_000 + 10 * batch + n if name.startswith("v1") else -1
            yield 4 * batch + n, stamp, key, None if n == 3 else value


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("old", ["v0", "v1"])
def test_messages_are_read_as_they_were_produced(old, codec):
    name = f"{old}-{codec}"
    found = list(read(SEGMENTS[name]))
    assert content(SEGMENTS[name]) == list(produced(name))
    assert [each.count for each in found] == ([1] * 8 if name in ONE_BY_ONE else [4, 4])
    assert not any(each.passes_as_bytes for each in found)
    assert {each.leader_epoch for each in found} == {-1}


def test_a_log_that_began_in_format_0_is_read_to_its_end():
    data = SEGMENTS["v0-v1-v2"]
    stamps = [-1] * 6 + [1_500_000_000_000 + n for n in range(6, 18)]
    value = "value {0}, value {0}, value {0}"
    assert content(data) == [
        (n, stamp, b"k", value.format(n).encode()) for n, stamp in enumerate(stamps)
    ]
    assert producer_ids(memoryview(data)) == {-1}
    assert [each.passes_as_bytes for each in read(data)][-2:] == [True, True]


@pytest.mark.parametrize("old", ["v0", "v1"])
def test_what_compaction_left_keeps_its_offsets(old):
    data = SEGMENTS[f"{old}-compacted"]
    assert [each[0] for each in content(data)] == [7, 8, 10, 11, 12, 13]


def a_set(magic: int, offsets: tuple[int, ...], last: int, attributes: int = 1) -> bytes:
    """Return a gzip set as it stands in a log: its last message is at ``last``."""
    builder = LegacyRecordBatchBuilder(magic, 1, 1 << 16)
    for offset in offsets:
        builder.append(offset, timestamp=1000 + offset, key=None, value=b"v")
    batch = builder.build()
    struct.pack_into(">q", batch, 0, last)
    batch[17] = attributes
    if magic:
        struct.pack_into(">q", batch, 18, 9999)
    struct.pack_into(">I", batch, CRC_AT, zlib.crc32(batch[COVERED_FROM:]))
    return bytes(batch)


@pytest.mark.parametrize(("magic", "offsets"), [(0, (7, 10)), (1, (0, 3)), (1, (2, 5))])
def test_a_hole_within_a_set_is_kept(magic, offsets):
    batch = a_set(magic, offsets, last=10)
    (found,) = read(batch)
    assert (found.base, found.last, found.count) == (7, 10, 2)
    assert [each[0] for each in content(batch)] == [7, 10]


@pytest.mark.parametrize(("magic", "offsets"), [(0, (7, 9)), (0, (10, 10)), (0, ()), (1, (3, 1))])
def test_a_set_whose_offsets_cannot_be_is_refused(magic, offsets):
    with pytest.raises(CorruptBatch, match=r"^reading t-0 at offset 10: "):
        content(a_set(magic, offsets, last=10))


def test_with_log_append_time_a_set_has_the_time_of_its_message():
    stamps = {stamp for _, stamp, _, _ in content(SEGMENTS["v1-append-time"])}
    assert stamps == {1_795_877_024_377}
    assert {stamp for _, stamp, _, _ in content(a_set(1, (0, 5), 10, attributes=9))} == {9999}


@pytest.mark.parametrize("name", sorted(SEGMENTS))
def test_they_have_no_producer_in_format_2(name):
    """An id that some producer may have would be taken for a copy, or for a repetition."""
    found = [each for each in read(SEGMENTS[name]) if each.attributes & OLD_FORMAT]
    assert {(each.producer_id, each.producer_epoch, each.sequence) for each in found} <= {
        (-1, -1, -1)
    }
    heads = [bytes(to_format_2(memoryview(first_of(SEGMENTS[name])))[43:57])]
    assert {struct.unpack(">qhi", each) for each in heads} == {(-1, -1, -1)}


@pytest.mark.parametrize("size", [False, True])
@pytest.mark.parametrize("checksum", [False, True])
def test_the_wrong_header_checksum_of_format_0_is_made_right_and_nothing_else(size, checksum):
    frame = lz4.frame.compress(b"content" * 9, content_checksum=checksum, store_size=size)
    at = 14 if size else 6
    wrong = frame[:at] + bytes([frame[at] ^ 0xFF]) + frame[at + 1 :]
    assert _with_right_checksum(wrong) == frame


@pytest.mark.parametrize("name", sorted(SEGMENTS))
def test_they_become_batches_of_format_2_with_the_same_records(name):
    batches = list(read(SEGMENTS[name]))
    packed = [reshape(each, within=range(1 << 62), skip=0, where="t-0") for each in batches]
    again = [next(walk(memoryview(each.batch))) for each in packed]
    assert [each.attributes for each in again] == [each.attributes & 0x07 for each in batches]
    assert all(each.passes_as_bytes for each in again)
    assert [n for each in packed for n in each.offsets] == [n for n, *_ in content(SEGMENTS[name])]
    records = [(each.timestamp, *key_and_value(each)) for batch in again for each in decode(batch)]
    assert records == [tuple(rest) for _, *rest in content(SEGMENTS[name])]


@pytest.mark.parametrize("name", ["v0-v1-v2", "v0-lz4", "v1-compacted"])
def test_a_partition_takes_old_and_new_batches_for_records_that_were_born_there(name):
    partition, data = by_registry(a_partition(a_start())), SEGMENTS[name]
    partition.position = 1
    records = memoryview(bytearray(data))
    fetched = Fetched(b"i" * 16, 0, 0, 18, 0, 0, [], -1, records, legacy=to_format_2)
    take(partition, fetched, FetchBuffer())
    expected = [n for n, *_ in content(data) if n >= 1]
    assert [
        n for producer_batch in partition.queue.waiting for n in producer_batch.offsets
    ] == expected
    assert partition.position == expected[-1] + 1


@given(st.sampled_from(sorted(SEGMENTS)), st.integers(0), st.integers(1, 255))
def test_damage_is_reported_with_its_place(name, number, how):
    data = SEGMENTS[name]
    at = CRC_AT + number % (len(first_of(data)) - CRC_AT)
    damaged = data[:at] + bytes([data[at] ^ how]) + data[at + 1 :]
    with pytest.raises(CorruptBatch, match=r"^reading orders-3 at offset \d+: "):
        list(read(damaged, "orders-3"))


@given(st.sampled_from(sorted(SEGMENTS)), st.integers(0), st.binary(max_size=9), st.integers(0, 9))
def test_what_was_damaged_before_its_checksum_was_made_is_an_error_or_decodes(name, at, new, gone):
    first = first_of(SEGMENTS[name])
    body = first[COVERED_FROM:]
    at %= len(body)
    body = body[:at] + new + body[at + gone :]
    whole = first[:8] + struct.pack(">iI", len(body) + 4, zlib.crc32(body)) + body
    found, reported = [], "reading t-0 at offset "
    try:
        found = content(whole)
    except CorruptBatch as error:
        reported = str(error)
    assert reported.startswith("reading t-0 at offset ")
    assert [n for n, *_ in found] == sorted({n for n, *_ in found})


def test_a_format_that_is_not_known_is_refused_with_its_place():
    batch = bytearray(bytes(list(read(SEGMENTS["v0-v1-v2"]))[-1].view))
    batch[16] = 3
    with pytest.raises(CorruptBatch) as caught:
        list(read(batch, "orders-3"))
    assert str(caught.value) == (
        "reading orders-3 at offset 15: message format 3, which is not supported"
    )


def packed(messages: bytes, magic: int = 1) -> bytes:
    """Return a gzip set of ``messages`` as it stands in a log, at offset 10."""
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 30)
    builder.append(10, timestamp=1000, key=None, value=gzip.compress(messages, 1))
    batch = builder.build()
    batch[17] = 1
    struct.pack_into(">I", batch, CRC_AT, zlib.crc32(batch[COVERED_FROM:]))
    return bytes(batch)


def a_message(**changes: bytes) -> bytes:
    """Return a message of format 1 with bytes changed: ``at_8`` from 8 on."""
    builder = LegacyRecordBatchBuilder(1, 0, 1 << 16)
    builder.append(0, timestamp=1000, key=b"k", value=b"v")
    batch = builder.build()
    for name, new in changes.items():
        at = int(name.removeprefix("at_"))
        batch[at : at + len(new)] = new
    if "at_12" not in changes:
        struct.pack_into(">I", batch, CRC_AT, zlib.crc32(batch[COVERED_FROM:]))
    return bytes(batch)


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        pytest.param(b"", "an empty set", id="empty"),
        pytest.param(a_message(at_12=b"no!!"), "the checksum does not fit the bytes", id="crc"),
        pytest.param(a_message(at_8=struct.pack(">i", -12)),
                     "a message of 0 bytes in a set that has 36 left", id="no length"),
        pytest.param(a_message()[:-1],
                     "a message of 36 bytes in a set that has 35 left", id="cut off"),
        pytest.param(a_message(at_16=b"\0"),
                     "format 0, attributes 0, in a set of format 1", id="two formats"),
        pytest.param(a_message(at_17=b"\1"),
                     "format 1, attributes 1, in a set of format 1", id="a set in a set"),
        pytest.param(a_message(at_26=b"\0\0\0\7"), "7 bytes where 6 are left", id="long key"),
        pytest.param(a_message(at_31=b"\0\0\0\0"), "a message of 35 bytes in 36", id="short value"),
        pytest.param(bytes(compression.MOST + 1),
                     f"decompressing code 1: it unpacks to more than {compression.MOST} bytes",
                     id="too large"),
    ],
)  # fmt: skip
def test_a_set_that_holds_what_it_cannot_is_refused_with_the_reason(inner, reason):
    with pytest.raises(CorruptBatch) as caught:
        content(packed(inner))
    assert str(caught.value).startswith(f"reading t-0 at offset 10: {reason}")


def test_in_batches_of_our_own_there_are_no_old_formats():
    with pytest.raises(CorruptBatch) as caught:
        list(walk(memoryview(SEGMENTS["v1-none"]), "orders-3"))
    assert str(caught.value) == (
        "reading orders-3 at offset 0: message format 1, which Isthmus does not know"
    )
