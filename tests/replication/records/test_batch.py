"""Record batches as bytes, checked with batches that another encoder made."""

from __future__ import annotations

import contextlib
import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from support.records.record_batches import GZIP, PLAIN, a_batch, a_marker

from replication.errors import CorruptBatch
from replication.records.aborted_filter import AbortedFilter, AbortedTransaction
from replication.records.batch import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    OLD_FORMAT,
    TRANSACTIONAL,
    next_sequence,
    restamp,
    walk,
)
from replication.records.codec import decode, reshape

values = st.lists(st.binary(max_size=20), min_size=1, max_size=5)
logs = st.lists(st.tuples(values, st.sampled_from([PLAIN, GZIP])), max_size=5)


def joined(log) -> tuple[bytes, list[int]]:
    data, bases, base = b"", [], 0
    for content, codec in log:
        data += a_batch(base, content, codec=codec)
        bases.append(base)
        base += len(content)
    return data, bases


@given(logs)
def test_walking_finds_every_batch_where_it_is(log):
    data, bases = joined(log)
    found = list(walk(memoryview(data)))
    assert [each.base for each in found] == bases
    assert [each.count for each in found] == [len(content) for content, _ in log]
    assert b"".join(bytes(each.view) for each in found) == data


@given(logs, st.integers(0, 400))
def test_a_batch_that_is_cut_off_is_left_out(log, keep):
    whole = a_batch(0, [b"before it"])
    data = whole + joined([([b"before it"], PLAIN), *log])[0][len(whole) :]
    keep += len(whole)
    found = list(walk(memoryview(data[:keep])))
    assert data.startswith(b"".join(bytes(each.view) for each in found))
    assert sum(len(each.view) for each in found) <= keep


@given(values, st.sampled_from([PLAIN, GZIP]), st.data())
def test_damaged_bytes_give_no_wrong_copy(content, codec, data):
    whole = a_batch(7, content, codec=codec)
    at = data.draw(st.integers(8, len(whole) - 1).filter(lambda i: not 12 <= i < 16))
    damaged = bytearray(whole)
    damaged[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(CorruptBatch):
        assert list(walk(memoryview(damaged), "orders-3")) == []


def test_damage_is_reported_with_its_place():
    damaged = a_batch(7, [b"abc"])[:-1] + b"?"
    with pytest.raises(CorruptBatch, match="orders-3 at offset 7"):
        list(walk(memoryview(damaged), "orders-3"))


@given(values, st.sampled_from([PLAIN, GZIP]), st.integers(0, 2**31 - 1))
def test_invariant_a_a_restamped_batch_is_an_idempotent_append_of_the_same_records(
    content, codec, sequence
):
    whole = a_batch(99, content, (5, 1, 0), codec=codec, transactional=True)
    (before,) = walk(memoryview(whole))
    stamped = bytearray(whole)
    restamp(stamped, 4711, 3, sequence)
    (after,) = walk(memoryview(stamped))
    assert (after.producer_id, after.producer_epoch, after.sequence) == (4711, 3, sequence)
    assert (after.base, after.is_transactional) == (0, False)
    assert stamped[61:] == whole[61:]
    assert struct.unpack_from(">I", stamped, 17)[0] == crc32c(bytes(stamped[21:]))
    assert [(e.timestamp, e.rest) for e in decode(after)] == [
        (e.timestamp, e.rest) for e in decode(before)
    ]


@given(values, st.sampled_from([PLAIN, GZIP]), st.integers(0, 6), st.integers(0, 6))
def test_cutting_a_batch_keeps_the_rest_as_it_was(content, codec, start, skip):
    (batch,) = walk(memoryview(a_batch(0, content, codec=codec)))
    expected = decode(batch)[start:][skip:]
    cut = reshape(batch, within=range(start, 1 << 62), skip=skip, where="t-0")
    assert cut.skipped == min(skip, max(0, len(content) - start))
    if cut.batch is None:
        assert expected == []
        return
    (left,) = walk(memoryview(cut.batch))
    assert (left.count, cut.offsets) == (len(expected), tuple(each.offset for each in expected))
    assert left.attributes == batch.attributes
    assert [(e.timestamp, e.rest) for e in decode(left)] == [
        (e.timestamp, e.rest) for e in expected
    ]


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        pytest.param({}, True, id="plain"),
        pytest.param({"attributes": TRANSACTIONAL | GZIP}, True, id="transactional, compressed"),
        pytest.param({"attributes": LOG_APPEND_TIME}, False, id="time of the broker"),
        pytest.param({"attributes": CONTROL}, False, id="marker"),
        pytest.param({"attributes": DELETE_HORIZON}, False, id="delete horizon"),
        pytest.param({"attributes": OLD_FORMAT}, False, id="format 0 or 1"),
        pytest.param({"count": 1}, False, id="a hole that compaction left"),
    ],
)
def test_a_batch_passes_as_bytes_only_if_a_restamp_is_enough(change, passes):
    (whole,) = walk(memoryview(a_batch(7, [b"a", b"b"])))
    assert whole._replace(**change).passes_as_bytes is passes


def test_a_batch_with_a_delete_horizon_is_encoded_anew_without_it():
    cleaned = bytearray(a_batch(7, [b"a", b"b"]))
    struct.pack_into(">h", cleaned, 21, DELETE_HORIZON)
    struct.pack_into(">q", cleaned, 27, 5000)  # KIP-534: the base timestamp is the horizon
    struct.pack_into(">I", cleaned, 17, crc32c(bytes(cleaned[21:])))
    (batch,) = walk(memoryview(cleaned))
    (again,) = walk(memoryview(reshape(batch, within=range(7, 1 << 62), skip=0, where="t-0").batch))
    assert again.passes_as_bytes
    assert [(e.timestamp, e.rest) for e in decode(again)] == [
        (e.timestamp, e.rest) for e in decode(batch)
    ]


def test_a_sequence_starts_again_after_its_largest_number():
    assert next_sequence(2**31 - 1, 1) == 0
    assert next_sequence(2**31 - 2, 5) == 3


@pytest.mark.parametrize("isolated", [True, False])
def test_batches_of_an_aborted_transaction_are_dropped_up_to_its_marker(isolated):
    data = (
        a_batch(0, [b"a"], (1, 0, 0), transactional=True)
        + a_batch(1, [b"other"], (2, 0, 0))
        + a_marker(2, 1, 0)
        + a_batch(3, [b"b"], (1, 0, 1), transactional=True)
    )
    kept = AbortedFilter([AbortedTransaction(1, 0)] if isolated else [])
    bases = [each.base for each in walk(memoryview(data)) if kept.keeps(each)]
    assert bases == ([1, 3] if isolated else [0, 1, 3])
