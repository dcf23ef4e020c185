"""Origin headers: which cluster they name, and which records a flow copies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.record_batches import GZIP, a_batch

from replication.errors import CorruptBatch
from replication.model import TopicPartition
from replication.provenance.origins import ForwardingRule
from replication.provenance.record_headers import ORIGIN, OriginHeaders, RecordOrigin, origin_of
from replication.records.batch import walk
from replication.records.codec import BatchRecord, decode, headers_of, plain_record, reshape

HERE = TopicPartition("orders", 3)
STAMP = OriginHeaders(HERE, stamp=RecordOrigin("id-of-A", "A"))


def a_record(*headers: tuple[str, bytes]) -> BatchRecord:
    return plain_record(1000, b"k", b"v", headers)


def left(rule: ForwardingRule, *headers: tuple[str, bytes]) -> bool:
    return OriginHeaders(HERE, rule)(a_record(*headers)) is None


headers = st.lists(st.tuples(st.text(max_size=8), st.binary(max_size=8)), max_size=4)


@given(headers)
def test_the_headers_of_a_record_are_read_as_they_were_written(listed):
    assert headers_of(a_record(*listed)) == listed


def test_a_record_is_stamped_once_and_keeps_what_it_has():
    stamped = STAMP(a_record(("mine", b"1")))
    assert headers_of(stamped) == [(ORIGIN, b"A/id-of-A/orders/3/0"), ("mine", b"1")]
    elsewhere = OriginHeaders(TopicPartition("t", 0), stamp=RecordOrigin("id-of-B", "B"))
    assert elsewhere(stamped) == stamped
    assert origin_of(headers_of(stamped)) == RecordOrigin("id-of-A", "A")


def test_what_was_born_on_the_target_or_comes_to_it_otherwise_is_left_out():
    stamped = headers_of(STAMP(a_record()))
    assert left(ForwardingRule("id-of-A"), *stamped)
    assert left(ForwardingRule("id-of-C", frozenset({"A"})), *stamped)
    assert not left(ForwardingRule("id-of-C"), *stamped)
    assert not left(ForwardingRule("id-of-A"))
    assert not left(ForwardingRule("id-of-A"), ("anything", b"id-of-A"))


def test_headers_of_other_tools_are_understood():
    migrator = ("redpanda-migrator-provenance", b"id-of-A")
    assert left(ForwardingRule("id-of-A"), migrator)
    assert not left(ForwardingRule("id-of-C"), migrator)
    assert left(ForwardingRule("id-of-C"), ("__mskmr", b"whatever"))


@given(st.integers(0, 6), st.integers(0, 4))
def test_only_records_that_are_copied_count_as_copied_before(start, skip):
    """Invariant E: counting after a crash goes by what is deliverable, wherever it is cut."""
    values = [b"%d" % n for n in range(6)]
    (batch,) = walk(memoryview(a_batch(0, values, codec=GZIP)))
    odd = [each for each in range(start, 6) if each % 2]

    def leave_out_even(record: BatchRecord) -> BatchRecord | None:
        return record if record.offset % 2 else None

    rest = reshape(
        batch, within=range(start, 1 << 62), skip=skip, where=HERE, recast=leave_out_even
    )
    assert list(rest.offsets) == odd[skip:]
    assert rest.skipped == min(skip, len(odd))
    kept = decode(next(walk(memoryview(rest.batch)))) if rest.batch else []
    assert len(kept) == len(odd[skip:])


def test_headers_that_are_cut_off_are_damage():
    with pytest.raises(CorruptBatch, match="headers"):
        headers_of(BatchRecord(0, 0, a_record(("name", b"content")).rest[:-3]))
