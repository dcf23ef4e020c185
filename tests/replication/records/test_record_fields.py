"""Records as fields: the same as what is decoded and encoded again, and damage is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.errors import CorruptBatch
from replication.records.batch import walk
from replication.records.codec import decode, encode, headers_of, key_and_value, plain_record
from replication.records.record_fields import fields_of

content = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=10), content), max_size=3)
records = st.lists(
    st.tuples(st.integers(-1, 2**41), content, content, headers), min_size=1, max_size=20
)


@given(given_records=records, codec=st.sampled_from((0, 1, 3)))
def test_fields_are_those_of_the_records(given_records, codec):
    packed = encode([plain_record(*each) for each in given_records], codec)
    (batch,) = walk(memoryview(packed))
    found = fields_of(batch)
    assert [each[1:] for each in found] == [
        (time, key, value, tuple(named)) for time, key, value, named in given_records
    ]
    assert found == [
        (e.offset, e.timestamp, *key_and_value(e), tuple(headers_of(e))) for e in decode(batch)
    ]


@given(at=st.integers(61, 200), bit=st.integers(0, 7))
def test_a_damaged_batch_is_noticed_or_still_has_all_its_records(at, bit):
    given_records = [plain_record(5, b"key", b"value" * 5, [("h", b"1")]) for _ in range(4)]
    packed = encode(given_records)
    (batch,) = walk(memoryview(packed))
    packed[min(at, len(packed) - 1)] ^= 1 << bit
    try:
        assert len(fields_of(batch)) == 4
    except CorruptBatch:
        return


def test_a_record_whose_number_is_beyond_its_batch_is_damaged_wherever_that_stands():
    packed = encode([plain_record(5, b"key", b"value")] * 3)
    (batch,) = walk(memoryview(packed))
    for base in (0, 1000):
        late = batch._replace(base=base, last=base + 1)  # of two records, and it holds three
        with pytest.raises(CorruptBatch, match=f"at offset {base}: a record of .* does not end"):
            fields_of(late)


def test_bytes_behind_the_last_record_are_damage():
    packed = encode([plain_record(5, b"key", b"value")] * 2)
    (batch,) = walk(memoryview(packed))
    with pytest.raises(CorruptBatch, match=r"at offset 0: \d+ bytes after the last record"):
        fields_of(batch._replace(count=1))


def test_a_batch_that_ends_too_early_is_damaged():
    packed = encode([plain_record(5, b"key", b"value")])
    (batch,) = walk(memoryview(packed))
    with pytest.raises(CorruptBatch, match="at offset 0"):
        fields_of(batch._replace(count=2))
