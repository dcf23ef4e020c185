"""Batches decoded to columns and encoded from columns: the same as one record after the other."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.decoded_records import batches_of

from replication.errors import CorruptBatch
from replication.records.batch import LOG_APPEND_TIME, walk
from replication.records.codec import decode as decoded_singly
from replication.records.codec import encode, plain_record
from replication.records.record_fields import fields_of
from spark_jobs.transform.columns.decoded_batches import decode, parts_of
from spark_jobs.transform.columns.encoded_batches import TargetRecords, rests_of
from spark_jobs.transform.columns.record_columns import headers_of, times_of

content = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=10), content), max_size=3)
many_headers = st.just([("n", b"%d" % n) for n in range(40)])
records = st.lists(
    st.tuples(st.integers(-1, 2**41), content, content, headers | many_headers),
    min_size=1,
    max_size=20,
)


NAMES = ("offset", "timestamp", "key", "value", "headers")


def columns_of(batches, bounds=(0, 99)):
    return decode(batches, bounds, "t").columns(NAMES)


def rests_in(batches, bounds=(0, 99)):
    found = decode(batches, bounds, "t").encoded
    return found.rests(np.arange(len(found)))


def singly(columns):
    """Return columns as a list of records."""
    offsets, keys, values = (columns[each].to_pylist() for each in ("offset", "key", "value"))
    listed = (headers_of(each) for each in columns["headers"].to_pylist())
    return list(
        zip(offsets, times_of(columns["timestamp"]).tolist(), keys, values, listed, strict=True)
    )


@given(
    first=records,
    second=records,
    codec=st.sampled_from((0, 1, 3)),
    bounds=st.tuples(st.integers(0, 25), st.integers(0, 45)),
)
def test_columns_are_what_is_decoded_one_by_one(first, second, codec, bounds):
    batches = batches_of(first, second, codec=codec)
    expected = [e for each in batches for e in fields_of(each) if bounds[0] <= e[0] < bounds[1]]
    assert singly(columns_of(batches, bounds)) == expected
    assert decode(batches, bounds, "t").singles() == expected
    rests = [e.rest for each in batches for e in decoded_singly(each)]
    rests = rests[bounds[0] : max(bounds)][: len(expected)]
    assert rests_in(batches, bounds).to_pylist() == rests


def test_times_are_those_of_the_log_where_the_broker_sets_them_and_micros_in_the_column():
    (batch,) = batches_of([(5, None, b"a"), (-1, None, b"b")])
    found = columns_of([batch])
    assert times_of(found["timestamp"]).tolist() == [5, -1]
    stamped = batch._replace(attributes=LOG_APPEND_TIME, max_timestamp=77)
    assert times_of(columns_of([stamped])["timestamp"]).tolist() == [77, 77]


def test_a_name_of_a_header_that_is_no_text_has_replacement_characters():
    packed = encode([plain_record(5, None, None, [("ab", b"1"), ("c", None)])])
    packed[packed.index(b"ab")] = 0xFF
    (batch,) = batches_of([(5, None, None, [("ab", b"1"), ("c", None)])])
    batch = batch._replace(view=memoryview(packed))
    assert singly(columns_of([batch])) == fields_of(batch)


@given(at=st.integers(61, 200), bit=st.integers(0, 7))
def test_damage_is_noticed_as_it_is_one_by_one(at, bit):
    packed = encode([plain_record(5, b"key", b"value" * 5, [("h", b"1")]) for _ in range(4)])
    (batch,) = walk(memoryview(packed))
    packed[min(at, len(packed) - 1)] ^= 1 << bit
    try:
        expected = fields_of(batch, "t")
    except CorruptBatch as error:
        with pytest.raises(CorruptBatch, match=re.escape(str(error))):
            columns_of([batch])
    else:
        assert singly(columns_of([batch])) == expected


@given(given_records=records, codec=st.sampled_from((0, 3)))
def test_batches_from_columns_are_those_of_single_records_byte_for_byte(given_records, codec):
    singles = [plain_record(*each) for each in given_records]
    (batch,) = TargetRecords.of(singles).batches(codec)
    assert batch.batch == encode(singles, codec)
    batches = batches_of(given_records)
    columns = columns_of(batches)
    made = rests_of(*(columns[each] for each in ("key", "value", "headers")))
    assert made.to_pylist() == [each.rest for each in singles]
    again = TargetRecords()
    again.extend(times_of(columns["timestamp"]), rests_in(batches))
    assert b"".join(each.batch for each in again.batches(codec)) == encode(singles, codec)


def test_batches_are_as_large_as_a_topic_takes_and_keep_the_order():
    singles = [plain_record(n, b"%d" % n, b"x" * (n % 1000)) for n in range(4000)]
    large = plain_record(1, b"large", b"x" * 600_000)
    found = TargetRecords.of([*singles, large, singles[0]])
    batches = list(found.batches(0))
    assert all(len(each.batch) <= 512 << 10 or each.records == 1 for each in batches)
    decoded = [e for each in batches for e in fields_of(next(walk(memoryview(each.batch))))]
    assert [e[2] for e in decoded] == [*(b"%d" % n for n in range(4000)), b"large", b"0"]
    assert sum(each.records for each in batches) == 4002
    assert found.size == sum(len(each.rest) for each in (*singles, large, singles[0]))


def test_columns_and_single_records_of_a_partition_stay_in_their_order():
    found, other = TargetRecords(), TargetRecords.of([plain_record(4, b"c", None)])
    found.add(plain_record(1, b"a", None))
    (batch,) = batches_of([(2, b"b", None)])
    found.extend(np.array([2]), rests_in([batch]))
    found.extend(np.zeros(0, np.int64), rests_in([batch]).slice(0, 0))
    found.join(other)
    found.add(plain_record(5, b"d", None))
    assert [each.timestamp for each in found.records()] == [1, 2, 4, 5]


@given(given_records=records, skipped=st.integers(0, 3))
def test_key_value_and_headers_are_taken_from_a_column_of_encoded_records(given_records, skipped):
    rests = [plain_record(*each).rest for each in given_records]
    found = parts_of(pa.array(rests, pa.binary()).slice(skipped))
    keys, values, encoded = (each.to_pylist() for each in found)
    left = given_records[skipped:]
    assert list(zip(keys, values, strict=True)) == [(each[1], each[2]) for each in left]
    assert encoded == [plain_record(0, None, None, each[3]).rest[2:] for each in left]
