"""Two logs compared batch by batch: equal however they are batched, different at any record."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from replication.records import batch_comparison
from replication.records.batch import LOG_APPEND_TIME, walk
from replication.records.batch_comparison import (
    BatchComparison,
    ComparedLog,
    CountedBatch,
)
from replication.records.codec import encode, plain_record, with_headers

GZIP = 1


def records(count, **more):
    return [
        plain_record(1000 + n, b"k%d" % n, b"v%d" % n, more.get("headers", ()))
        for n in range(count)
    ]


def log(listed, sizes=(1000,), codec=0, base=0, attributes=0):
    """Return the batches of a log; ``sizes``: how many records come to each, over and over."""
    batches, at, turn = [], 0, 0
    while at < len(listed):
        size = sizes[turn % len(sizes)]
        turn += 1
        batch = encode(listed[at : at + size], codec)
        struct.pack_into(">q", batch, 0, base + at)
        (flags,) = struct.unpack_from(">h", batch, 21)
        struct.pack_into(">h", batch, 21, flags | attributes)
        struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
        (found,) = walk(memoryview(batch))
        batches.append(CountedBatch(found, found.base, found.last + 1))
        at += size
    return batches


def compared(source, target, **more):
    comparison = BatchComparison(
        ComparedLog(keeps=more.get("keeps")), ComparedLog(), more.get("left_out", ())
    )
    sides = (comparison.source, iter(source)), (comparison.target, iter(target))
    while not comparison.done:
        for side, batches in sides:
            if side.wants_more:
                side.give(next(batches, None))
        comparison.advance()
    return comparison


@given(
    st.integers(0, 40),
    st.lists(st.integers(1, 9), min_size=1),
    st.lists(st.integers(1, 9), min_size=1),
    st.sampled_from([0, GZIP]),
)
def test_logs_with_the_same_records_are_equal_however_they_are_batched(count, one, two, codec):
    source, target = log(records(count), one), log(records(count), two, codec, base=7)
    found = compared(source, target)
    assert (found.differs, found.records) == (False, count)


@given(st.integers(1, 30), st.data(), st.lists(st.integers(1, 9), min_size=1))
def test_any_change_is_a_difference_and_the_records_before_it_agree(count, data, sizes):
    at = data.draw(st.integers(0, count - 1))
    copy = records(count)
    fault = data.draw(st.sampled_from(["value", "time", "headers", "lost", "twice", "more"]))
    if fault == "value":
        copy[at] = plain_record(1000 + at, b"k%d" % at, b"x")
    elif fault == "time":
        copy[at] = plain_record(1001 + at, b"k%d" % at, b"v%d" % at)
    elif fault == "headers":
        copy[at] = plain_record(1000 + at, b"k%d" % at, b"v%d" % at, [("h", b"")])
    elif fault == "lost":
        del copy[at]
    elif fault == "twice":
        copy.insert(at, copy[at])
    else:
        copy.append(plain_record(1, b"", b""))
    found = compared(log(records(count), sizes), log(copy, [4]))
    assert found.differs
    assert found.records <= count


def test_equal_bytes_are_not_decoded(monkeypatch):
    def refuse(*_):
        raise AssertionError("a batch was decoded")

    source, target = log(records(50), [10]), log(records(50), [10], base=3)
    monkeypatch.setattr("replication.records.batch_comparison.decode", refuse)
    assert compared(source, target).records == 50


def test_records_outside_of_the_range_do_not_count():
    [whole] = log(records(10))
    source = [whole._replace(first=2, after=8)]
    assert compared(source, log(records(10)[2:8], [4])).records == 6
    assert compared(source, log(records(10)[2:9], [4])).differs


def test_where_the_target_puts_its_own_time_timestamps_do_not_count():
    late = [plain_record(5000, b"k%d" % n, b"v%d" % n) for n in range(9)]
    source = log(records(9), [9])
    for sizes in ([9], [3]):
        assert compared(source, log(late, sizes)).differs
        assert not compared(source, log(late, sizes, attributes=LOG_APPEND_TIME)).differs


def test_a_header_that_only_copies_have_is_left_out_and_no_other():
    copy = [
        plain_record(each.timestamp, b"k%d" % n, b"v%d" % n) for n, each in enumerate(records(5))
    ]
    stamped = [
        type(each)(each.offset, each.timestamp, with_headers(each.rest, [("isthmus.origin", b"x")]))
        for each in copy
    ]
    assert not compared(log(records(5)), log(stamped), left_out=("isthmus.origin",)).differs
    assert compared(log(records(5)), log(stamped), left_out=("other",)).differs


def test_records_that_the_flow_does_not_copy_need_no_copy():
    source = log(records(6), [3])
    target = log([each for n, each in enumerate(records(6)) if n != 4])
    assert compared(source, target, keeps=lambda each: each.offset != 4).records == 5


@pytest.mark.parametrize(("agree", "marked"), [(1000, False), (2005, True)])
def test_a_mark_is_well_before_the_first_difference(agree, marked, monkeypatch):
    monkeypatch.setattr(batch_comparison, "MARK_EVERY", 1000)
    listed = [plain_record(1, None, b"%d" % n) for n in range(agree)]
    source = log([*listed, plain_record(1, b"a", b"")], [50])
    target = log([*listed, plain_record(1, b"b", b"")], [50], base=10)
    found = compared(source, target)
    assert (found.differs, found.records) == (True, agree)
    assert found.mark == ((1000, 1010, 1000) if marked else None)
