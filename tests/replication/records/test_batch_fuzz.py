"""Damaged record batches: the same records come out, or an error that names the place."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import zlib
from contextlib import contextmanager
from itertools import pairwise

import cramjam
import lz4.frame
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from support.records.record_batches import a_batch

from replication.errors import CorruptBatch
from replication.model import TopicPartition
from replication.records.batch import HEADER_SIZE, Batch, walk
from replication.records.codec import (
    BatchRecord,
    decode,
    encode,
    key_and_value,
    plain_record,
    reshape,
)
from replication.records.compression import compress, decompress

WHERE = TopicPartition("orders", 3)
CODECS = (0, 1, 2, 3, 4)
CRC_AT, COVERED_FROM = 17, 21
contents = st.lists(st.binary(max_size=60), min_size=1, max_size=6)
logs = st.lists(st.tuples(contents, st.sampled_from(CODECS)), min_size=1, max_size=4)
damages = st.one_of(
    st.tuples(st.just("flip"), st.integers(0), st.integers(1, 255)),
    st.tuples(st.just("cut"), st.integers(0), st.integers(1, 100)),
    st.tuples(st.just("insert"), st.integers(0), st.binary(min_size=1, max_size=30)),
    st.tuples(st.just("truncate"), st.integers(0), st.none()),
)


def a_log(content) -> tuple[bytes, list[bytes]]:
    """Return batches one after the other, and each by itself."""
    batches, base = [], 100
    for values, codec in content:
        records = [
            plain_record(base + n, b"k", value, [("h", b"x")]) for n, value in enumerate(values)
        ]
        batch = encode(records, codec)
        struct.pack_into(">q", batch, 0, base)
        batches.append(bytes(batch))
        base += len(values)
    return b"".join(batches), batches


def damaged(data: bytes, damage) -> bytes:
    kind, number, how = damage
    at = number % len(data)
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ how]) + data[at + 1 :]
    if kind == "cut":
        return data[:at] + data[at + how :]
    return data[:at] + how + data[at:] if kind == "insert" else data[:at]


def renewed(batch: bytes) -> bytes:
    """Return a damaged batch whose length and checksum are right again."""
    whole = bytearray(batch)
    struct.pack_into(">i", whole, 8, len(whole) - 12)
    struct.pack_into(">I", whole, CRC_AT, crc32c(bytes(whole[COVERED_FROM:])))
    return bytes(whole)


@contextmanager
def naming_the_place():
    """Let an error pass if it is ours and says where the damage is."""
    caught = None
    try:
        yield
    except CorruptBatch as error:
        caught = error
    assert caught is None or str(caught).startswith(f"reading {WHERE} at offset ")


@given(logs, damages)
def test_of_damaged_batches_none_is_taken_for_a_right_one(content, damage):
    data, batches = a_log(content)
    found: list[Batch] = []
    with naming_the_place():
        found.extend(walk(memoryview(damaged(data, damage)), WHERE))
    assert all(bytes(b.view[COVERED_FROM:]) in {e[COVERED_FROM:] for e in batches} for b in found)
    assert all(before.last < after.base for before, after in pairwise(found))
    if damage[0] == "truncate":
        assert [bytes(each.view) for each in found] == batches[: len(found)]


@given(logs.map(a_log), st.integers(0), st.integers(1, 255))
def test_a_flipped_byte_is_noticed_wherever_the_checksum_covers_it(log, number, how):
    (first, *_) = log[1]
    at = COVERED_FROM + number % (len(first) - COVERED_FROM)
    with pytest.raises(CorruptBatch) as caught:
        list(walk(memoryview(damaged(first, ("flip", at, how))), WHERE))
    assert str(caught.value).startswith(f"reading {WHERE} at offset 100: ")


def taken(batch: bytes) -> list[BatchRecord] | None:
    """Walk and decode; None where an error says that it is damaged."""
    with naming_the_place():
        return [record for each in walk(memoryview(batch), WHERE) for record in decode(each, WHERE)]
    return None


@given(contents, st.sampled_from(CODECS), damages)
def test_what_was_damaged_before_its_checksum_was_made_is_an_error_or_decodes_whole(
    values, codec, damage
):
    _, (batch,) = a_log([(values, codec)])
    body = damaged(batch[COVERED_FROM:], damage)
    spoilt = renewed(batch[:COVERED_FROM] + body)
    records = taken(spoilt)
    if records:
        (again,) = walk(memoryview(spoilt), WHERE)
        assert len(records) == again.count
        assert all(again.base <= each.offset <= again.last for each in records)
        assert all(before.offset < after.offset for before, after in pairwise(records))
        copied = reshape(again, within=range(again.base, 1 << 62), skip=0, where=WHERE).batch
        assert [e[1:] for e in taken_parts(copied)] == [(e.timestamp, e.rest) for e in records]


def taken_parts(batch: bytearray) -> list[tuple[int, int, bytes]]:
    (whole,) = walk(memoryview(batch), WHERE)
    return [(each.offset, each.timestamp, each.rest) for each in decode(whole, WHERE)]


@given(st.binary(min_size=1, max_size=300))
def test_bytes_that_are_no_batches_at_all_are_reported_to_be_so(noise):
    with pytest.raises(CorruptBatch, match=f"reading {WHERE} at offset "):
        list(walk(memoryview(noise), WHERE))


@given(st.binary(max_size=40))
def test_a_state_record_of_noise_is_an_error_or_a_key_and_a_value(noise):
    try:
        parts = key_and_value(BatchRecord(0, 0, noise))
    except CorruptBatch:
        return
    assert all(part is None or part in noise for part in parts)


@given(st.sampled_from(CODECS), st.binary(max_size=400), st.integers(0, 400))
def test_no_more_is_unpacked_than_allowed(codec, data, most):
    packed = compress(codec, data)
    if len(data) <= most:
        assert decompress(codec, packed, most) == data
    else:
        with pytest.raises(CorruptBatch, match=f"more than {most} bytes"):
            decompress(codec, packed, most)


ZEROS = 300 << 20


def gzip_bomb() -> bytes:
    """Return one block of 1 MB many times, with neither the size nor the checksum at the end."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + block * (ZEROS >> 20)


BOMBS = {
    "gzip": (1, gzip_bomb),
    "snappy": (2, lambda: b"\xff\xff\xff\xff\x0f" + b"x" * 20),  # claims 4 GB
    "lz4": (3, lambda: lz4.frame.compress(bytes(ZEROS))),
    "zstd": (4, lambda: bytes(cramjam.zstd.compress(bytes(ZEROS)))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_decompression_bomb_is_refused_before_it_fills_the_memory(name):
    codec, make = BOMBS[name]
    bomb = make()
    assert len(bomb) < 2 << 20
    batch = bytearray(a_batch(7, [b"x"])[:HEADER_SIZE]) + bomb
    struct.pack_into(">h", batch, COVERED_FROM, codec)
    (read,) = walk(memoryview(renewed(batch)), WHERE)
    tracemalloc.start()
    with pytest.raises(CorruptBatch, match=f"reading {WHERE} at offset 7: .* more than"):
        decode(read, WHERE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < ZEROS


def test_a_count_that_the_bytes_cannot_hold_builds_nothing():
    batch = bytearray(a_batch(7, [b"x"]))
    struct.pack_into(">i", batch, 23, (1 << 31) - 1)  # last offset delta
    struct.pack_into(">i", batch, 57, (1 << 31) - 1)  # records
    (read,) = walk(memoryview(renewed(batch)), WHERE)
    with pytest.raises(CorruptBatch, match="2147483647 records in"):
        decode(read, WHERE)


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        pytest.param(57, 1, "after the last record", id="fewer records than there are"),
        pytest.param(57, 3, "ends within a record", id="more records than there are"),
        pytest.param(23, 5, None, id="a hole at the end is no damage"),
    ],
)
def test_counts_must_fit_the_records(at, value, reason):
    batch = bytearray(a_batch(7, [b"one", b"two"]))
    struct.pack_into(">i", batch, at, value)
    if value == 3:
        struct.pack_into(">i", batch, 23, 2)
    (read,) = walk(memoryview(renewed(batch)), WHERE)
    if reason is None:
        assert [each.offset for each in decode(read, WHERE)] == [7, 8]
    else:
        with pytest.raises(CorruptBatch, match=reason):
            decode(read, WHERE)


def test_offsets_that_go_back_are_noticed_although_no_checksum_covers_them():
    first, second = a_batch(100, [b"a", b"b"]), a_batch(101, [b"c"])
    with pytest.raises(CorruptBatch, match=f"reading {WHERE} at offset 101: it follows 101"):
        list(walk(memoryview(first + second), WHERE))


def test_a_first_batch_that_is_not_whole_is_no_end_of_the_log():
    with pytest.raises(CorruptBatch, match=f"reading {WHERE} at offset 100: a batch of"):
        list(walk(memoryview(a_batch(100, [b"a"])[:-1]), WHERE))
    whole = a_batch(100, [b"a"])
    (found,) = walk(memoryview(whole + a_batch(101, [b"b"])[:-1]), WHERE)
    assert bytes(found.view) == whole
