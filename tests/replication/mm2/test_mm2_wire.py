"""MirrorMaker 2's three kinds of records, byte by byte."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.errors import ReplicationError
from replication.mm2.wire import Checkpoint, Heartbeat, OffsetSync, Undecodable, parse_all

GOLDEN = [
    pytest.param(
        OffsetSync("topic-1", 2, 3, 4),
        "0007746f7069632d3100000002",
        "00000000000000030000000000000004",
        id="WF-01",
    ),
    pytest.param(
        OffsetSync("orders", 7, 123456789, 987654),
        "00066f726465727300000007",
        "00000000075bcd1500000000000f1206",
        id="offset sync",
    ),
    pytest.param(
        Checkpoint("group-1", "topic-2", 3, 4, 5, "metadata-6"),
        "000767726f75702d310007746f7069632d3200000003",
        "000000000000000000040000000000000005000a6d657461646174612d36",
        id="WF-02",
    ),
    pytest.param(
        Checkpoint("billing", "A.orders", 0, 1000, 801),
        "000762696c6c696e670008412e6f726465727300000000",
        "000000000000000003e800000000000003210000",
        id="checkpoint without metadata",
    ),
    pytest.param(
        Checkpoint("grüppe", "A.orders", 12, 0, 0, "✓"),
        "00076772c3bc7070650008412e6f72646572730000000c",
        "0000000000000000000000000000000000000003e29c93",
        id="lengths count bytes",
    ),
    pytest.param(
        Heartbeat("source-1", "target-2", 1234567890),
        "0008736f757263652d3100087461726765742d32",
        "000000000000499602d2",
        id="WF-03",
    ),
    pytest.param(
        Heartbeat("A", "B", 1700000000000), "000141000142", "00000000018bcfe56800", id="heartbeat"
    ),
]
NAMES = st.text(max_size=40).filter(lambda text: text.isprintable())
OFFSETS = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_wf_01_wf_02_wf_03_records_are_mirrormakers_own_bytes(record, key, value):
    assert (record.key().hex(), record.value().hex()) == (key, value)
    assert type(record).parse(bytes.fromhex(key), bytes.fromhex(value)) == record


@given(group=NAMES, topic=NAMES, partition=st.integers(0, (1 << 31) - 1), up=OFFSETS, down=OFFSETS)
def test_any_checkpoint_comes_back_as_it_was(group, topic, partition, up, down):
    made = Checkpoint(group, topic, partition, up, down, group[::-1])
    assert Checkpoint.parse(made.key(), made.value()) == made


@pytest.mark.parametrize("kind", [Heartbeat, Checkpoint, OffsetSync])
@given(key=st.binary(max_size=60), value=st.binary(max_size=60))
def test_foreign_bytes_are_undecodable_or_a_record_and_nothing_else(kind, key, value):
    with contextlib.suppress(Undecodable):
        assert isinstance(kind.parse(key, value), kind)


BEAT = Heartbeat("A", "B", 7)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(BEAT.key(), None, id="a tombstone"),
        pytest.param(None, BEAT.value(), id="no key"),
        pytest.param(BEAT.key()[:-1], BEAT.value(), id="a short key"),
        pytest.param(BEAT.key(), BEAT.value()[:-1], id="a short value"),
        pytest.param(b"\xff\xff" + BEAT.key(), BEAT.value(), id="a negative length"),
        pytest.param(BEAT.key(), b"\x00\x01" + BEAT.value()[2:], id="version 1"),
        pytest.param(b"\x00\x01\xff\x00\x01B", BEAT.value(), id="no UTF-8"),
    ],
)
def test_one_bad_record_is_left_out_and_the_others_are_read(key, value):
    good = (BEAT.key(), BEAT.value())
    assert list(parse_all(Heartbeat.parse, [good, (key, value), good])) == [BEAT, BEAT]


def test_bytes_behind_the_last_field_are_passed_over():
    assert Heartbeat.parse(BEAT.key() + b"x", BEAT.value() + b"xyz") == BEAT


def test_a_text_too_long_for_its_length_is_refused_by_name():
    with pytest.raises(ReplicationError, match=r"has 40000 bytes: .* at most 32767"):
        Checkpoint("g", "t", 0, 1, 1, "m" * 40_000).value()
