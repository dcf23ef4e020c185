"""What the bench of verifications does to a log."""

from __future__ import annotations

import struct

import pytest

from bench.records import damage
from bench.verified import faults
from replication.records.batch import restamp, walk
from replication.records.codec import decode, encode, plain_record

BATCH = 10


@pytest.fixture
def partition(tmp_path):
    """Two batches of ten records each, at offsets 0 and 10."""
    data = b""
    for base in (0, BATCH):
        records = [
            plain_record(1000 + n, b"k", b"value %d" % n, [("h", b"%d" % n)])
            for n in range(base, base + BATCH)
        ]
        batch = encode(records)
        restamp(batch, 7, 1, base)
        struct.pack_into(">q", batch, 0, base)
        data += batch
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    (tmp_path / "00000000000000000000.index").write_bytes(b"old")
    return tmp_path


def records_in(partition):
    (log,) = partition.iterdir()
    batches = list(walk(memoryview(log.read_bytes())))
    assert {each.producer_id for each in batches} == {7}
    return [(each.offset, each.timestamp, each.rest) for b in batches for each in decode(b)]


def test_a_record_that_is_removed_and_one_that_is_doubled_move_those_between(partition):
    before = [each[1:] for each in records_of(partition)]
    damage.damage(partition, {3: damage.remove, 15: damage.double})
    found = records_in(partition)
    assert [each[0] for each in found] == [*range(2 * BATCH)]
    assert [each[1:] for each in found] == [*before[:3], *before[4:16], *before[15:]]


def records_of(partition):
    (partition / "00000000000000000000.index").unlink()
    return records_in(partition)


@pytest.mark.parametrize("change", [damage.flip, damage.delay, damage.strip, damage.swap])
def test_one_record_is_changed_and_all_others_stay(partition, change):
    before = records_of(partition)
    damage.damage(partition, {12: change})
    after = records_in(partition)
    differing = [n for n in range(2 * BATCH) if before[n] != after[n]]
    assert differing == ([12, 13] if change is damage.swap else [12])


def test_the_faults_are_of_six_kinds_at_places_of_their_own():
    made = faults(2_500_000)
    assert len({each.kind for each in made}) == 6
    assert len({(each.partition, each.offset) for each in made}) == 6
