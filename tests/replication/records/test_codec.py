"""Records in and out of batches, against kafka-python's builder and reader."""

from __future__ import annotations

import contextlib
import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from support.records.record_batches import GZIP, PLAIN, a_batch

from replication.errors import CorruptBatch
from replication.records.batch import LOG_APPEND_TIME, walk
from replication.records.codec import (
    MOST_RECORDS,
    coalesce,
    decode,
    encode,
    key_and_value,
    plain_record,
    read_varint,
    reshape,
    varint,
)
from replication.records.compression import compress

LZ4 = 3
maybe = st.none() | st.binary(max_size=30)
headers = st.lists(st.tuples(st.text(max_size=5), maybe), max_size=3)
contents = st.lists(
    st.tuples(st.integers(0, 2**41), maybe, maybe, headers), min_size=1, max_size=6
)  # timestamp, key, value, headers


def built(records, codec: int = PLAIN, base: int = 0) -> bytes:
    """Return the batch that kafka-python makes of ``records``."""
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for number, (timestamp, key, value, its) in enumerate(records):
        builder.append(number, timestamp, key, value, its)
    batch = bytearray(builder.build())
    struct.pack_into(">q", batch, 0, base)
    return bytes(batch)


def read(batch) -> list[tuple]:
    """Return the records that kafka-python finds in ``batch``."""
    whole = DefaultRecordBatch(bytes(batch))
    assert whole.validate_crc()
    return [(e.timestamp, e.key, e.value, [(n, v) for n, v in e.headers]) for e in whole]


def the(batch) -> object:
    (found,) = walk(memoryview(batch))
    return found


@given(contents, st.sampled_from([PLAIN, GZIP, LZ4]), st.sampled_from([PLAIN, GZIP, LZ4]))
def test_decoding_and_encoding_keeps_all_that_another_client_reads(records, theirs, ours):
    again = encode(decode(the(built(records, theirs))), ours)
    assert read(again) == records
    assert again[61:] == compress(ours, built(records)[61:])  # the same records, byte for byte


@given(contents, st.sampled_from([0, 1, 2, 3, 4]), st.integers(0, 2**62))
def test_every_codec_gives_back_what_went_in(records, codec, base):
    before = decode(the(built(records, base=base)))
    assert [each.offset for each in before] == [base + n for n in range(len(records))]
    after = decode(the(encode(before, codec)))
    assert [each.offset for each in after] == list(range(len(records)))
    assert [each[1:] for each in map(fields, after)] == [each[1:] for each in map(fields, before)]


def fields(record):
    return record.offset, record.timestamp, record.rest


@given(contents)
def test_keys_and_values_are_found(records):
    found = [key_and_value(each) for each in decode(the(built(records)))]
    assert found == [(key, value) for _, key, value, _ in records]


@given(st.integers(0, 2**41), maybe, maybe, st.lists(st.tuples(st.text(max_size=5), st.binary())))
def test_a_record_of_our_own_is_read_by_another_client(timestamp, key, value, its):
    batch = encode([plain_record(timestamp, key, value, its)])
    assert read(batch) == [(timestamp, key, value, its)]


@given(st.lists(contents, min_size=1, max_size=4), st.sampled_from([PLAIN, GZIP, LZ4]))
def test_coalescing_keeps_content_order_and_codec(parts, codec):
    batches, base = [], 5
    for records in parts:
        batches.append(the(built(records, codec, base)))
        base += len(records)
    merged = coalesce(batches, "t-0")
    assert read(merged) == [record for records in parts for record in records]
    assert the(merged).attributes == batches[0].attributes
    assert the(merged).passes_as_bytes


@given(contents, st.integers(0, 8), st.integers(0, 8), st.integers(0, 1000))
def test_reshaping_leaves_what_comes_after_the_start_and_the_skipped(records, ahead, skip, base):
    batch = the(built(records, GZIP, base))
    cut = reshape(batch, within=range(base + ahead, 1 << 62), skip=skip, where="t-0")
    expected = records[ahead:][skip:]
    assert len(cut.offsets) == len(expected)
    assert cut.skipped == min(skip, len(records[ahead:]))
    if expected:
        assert cut.offsets[0] == base + ahead + skip
        assert read(cut.batch) == expected
    else:
        assert (cut.batch, cut.offsets) == (None, ())


@given(contents, st.integers(2**41, 2**42))
def test_records_with_log_append_time_have_the_brokers_timestamp(records, timestamp):
    batch = bytearray(built(records))
    (attributes,) = struct.unpack_from(">h", batch, 21)
    struct.pack_into(">h", batch, 21, attributes | LOG_APPEND_TIME)
    struct.pack_into(">q", batch, 35, timestamp)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    whole = the(batch)
    assert not whole.passes_as_bytes
    assert {each.timestamp for each in decode(whole)} == {timestamp}
    assert the(encode(decode(whole))).passes_as_bytes


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=3), st.data())
def test_damage_inside_a_batch_is_reported_or_changes_no_shape(values, data):
    batch = bytearray(a_batch(41, values))
    at = data.draw(st.integers(61, len(batch) - 1))
    batch[at] ^= data.draw(st.integers(1, 255))
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))  # as if written like this
    with contextlib.suppress(CorruptBatch):
        assert len(decode(the(batch), "orders-3")) == len(values)


@pytest.mark.parametrize("code", [1, 2, 3, 4, 6])
def test_records_that_cannot_be_decompressed_are_a_corrupt_batch(code):
    batch = bytearray(a_batch(41, [b"abc"]))
    struct.pack_into(">h", batch, 21, code)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    with pytest.raises(CorruptBatch, match="orders-3 at offset 41"):
        decode(the(batch), "orders-3")


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_of_any_size_are_read_back(value):
    encoded = varint(value)
    assert read_varint(memoryview(encoded), 0) == (value, len(encoded))
    assert len(encoded) <= 10


def test_a_number_without_end_is_refused():
    with pytest.raises(CorruptBatch):
        read_varint(memoryview(b"\xff" * 11), 0)


def test_a_batch_of_a_million_tiny_records_and_more_is_refused_before_it_takes_the_memory():
    """A few kilobytes of gzip hold them; each would be an object of 150 bytes."""
    count = MOST_RECORDS + 1
    body = compress(GZIP, b"".join(b"\x0c\0\0\0\1\1\0" for _ in range(count)))
    first = built([(0, None, b"", [])])
    batch = bytearray(first[:61]) + body
    batch[22] |= GZIP
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">i", batch, 23, count - 1)
    struct.pack_into(">i", batch, 57, count)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    (found,) = walk(memoryview(batch))
    assert len(batch) < 100_000
    with pytest.raises(CorruptBatch, match="1048577 records; 1048576 at most can be decoded"):
        decode(found)
