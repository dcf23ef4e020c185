"""The records that the bench copies."""

from __future__ import annotations

import json

import pytest
from cramjam import lz4

from bench.records.gate import Dataset, shares
from bench.records.loader import values


@pytest.mark.parametrize("size", [100, 1000])
def test_every_value_is_json_of_exactly_the_size(size):
    found = values(size)
    assert {len(value) for value in found} == {size}
    assert all(json.loads(value)["state"] == "paid" for value in found)


@pytest.mark.parametrize("size", [100, 1000])
def test_values_shrink_as_business_records_do(size):
    text = b"".join(values(size)[: 128_000 // size])
    assert 0.4 < len(lz4.compress_block(text)) / len(text) < 0.7


def test_values_differ():
    assert len(set(values(100))) == len(values(100))


def test_values_are_the_same_in_every_round():
    assert values(100) == values(100)


def test_each_partition_is_filled_by_one_loader_and_all_are_equal():
    filled = [
        partition
        for share in shares("here:9092", Dataset("t", partitions=5, records=50, size=100))
        for partition in share.partitions
        if share.records == 10
    ]
    assert sorted(filled) == [0, 1, 2, 3, 4]
