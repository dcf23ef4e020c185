"""Runs of records are found by content, however a log's batches are cut."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from support.records.record_batches import GZIP, a_batch

from replication.records.batch import LOG_APPEND_TIME, restamp, walk
from replication.records.codec import BatchRecord, decode, encode, plain_record
from replication.records.content_search import SearchedBatch

letters = st.lists(st.sampled_from("ab"), max_size=30)


def records(text) -> list[BatchRecord]:
    return [replace(plain_record(5, b"k", each.encode()), offset=n) for n, each in enumerate(text)]


@given(letters.filter(bool), letters, st.integers(1, 5))
def test_every_place_of_a_run_is_found_and_no_other(run, log, cut):
    (batch,) = walk(memoryview(encode(records(run))))
    expected = SearchedBatch(batch, "t")
    for begin in range(0, len(log), cut):
        part = log[begin : begin + cut]
        expected.add(records(part), range(begin, begin + len(part)))
    size = len(run)
    places = [end for end in range(size, len(log) + 1) if log[end - size : end] == run]
    assert expected.found == [(end, end) for end in places]
    assert expected.seen == len(log)


def found(batch: bytes, log: bytes) -> list[int]:
    (ours,) = walk(memoryview(batch))
    expected = SearchedBatch(ours, "t")
    for each in walk(memoryview(log)):
        listed = decode(each)
        expected.add(listed, [record.offset for record in listed])
    return [after for after, _ in expected.found]


def test_records_are_the_same_however_they_are_compressed_and_cut():
    log = a_batch(0, [b"x"]) + a_batch(1, [b"a", b"b"], codec=GZIP) + a_batch(3, [b"c"])
    assert found(a_batch(70, [b"a", b"b"]), log) == [3]


def test_another_timestamp_is_another_record_unless_the_target_puts_its_own():
    log = a_batch(0, [b"a"], timestamp=2000)
    ours = bytearray(a_batch(0, [b"a"], timestamp=9000))
    assert found(ours, log) == []
    ours[22] |= LOG_APPEND_TIME
    restamp(ours, 1, 0, 0)
    assert found(ours, log) == [1]
