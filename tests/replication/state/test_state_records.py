"""What stands in the state topics: values to bytes and back."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.state import (
    VERSION,
    Anchor,
    Control,
    FlowStatus,
    GroupPositions,
    Intent,
    OffsetPoint,
    ProducerEntry,
    TaskReport,
    UnknownVersion,
    parse,
    parse_only,
)

KINDS = [Anchor, Control, TaskReport, FlowStatus, Intent, OffsetPoint, ProducerEntry]
text = st.text(max_size=12)
numbers = st.integers(-(2**63), 2**63 - 1)
BY_TYPE = {
    "tuple[str, ...]": st.lists(st.text(max_size=5), max_size=3).map(tuple),
    "str": text,
    "int": numbers,
    "int | None": st.none() | numbers,
    "bool": st.booleans(),
    "tuple[tuple[str, int], ...]": st.lists(st.tuples(text, numbers), max_size=3).map(tuple),
    "tuple[int, int] | None": st.none() | st.tuples(numbers, numbers),
    "tuple[int, int, int, int, int] | None": st.none() | st.tuples(*[numbers] * 5),
    "tuple[int, int, int]": st.tuples(*[numbers] * 3),
}


def values_of(kind):
    return st.builds(kind, **{each.name: BY_TYPE[str(each.type)] for each in fields(kind)})


values = st.one_of(*map(values_of, KINDS))


@given(values)
def test_a_value_comes_back_as_it_was(value):
    assert parse(value.key(), value.value()) == value


@given(values)
def test_the_key_holds_the_kind_and_what_makes_it_one_of_its_kind(value):
    key = json.loads(value.key())
    assert key.pop("kind") == value.KIND
    assert set(key) == set(value.KEYS)
    assert not set(key) & set(json.loads(value.value()))


def test_different_kinds_of_one_flow_do_not_replace_one_another():
    keys = {kind("f").key() for kind in (Control, FlowStatus, Intent)}
    assert len(keys) == 3


@pytest.mark.parametrize("version", [0, VERSION + 1, None, "1"])
@pytest.mark.parametrize("kind", [Control, FlowStatus, Intent])
def test_a_record_of_another_version_is_refused_not_guessed_at(kind, version):
    value = {**json.loads(kind("f").value()), "v": version}
    with pytest.raises(UnknownVersion, match=f"a {kind.KIND} record of version {version}"):
        parse(kind("f").key(), json.dumps(value).encode())


def test_a_record_without_a_version_is_refused():
    value = json.loads(Control("f").value())
    del value["v"]
    with pytest.raises(UnknownVersion):
        parse(Control("f").key(), json.dumps(value).encode())


@given(values, st.dictionaries(st.text(min_size=20, max_size=25), numbers, max_size=2))
def test_a_field_that_we_do_not_know_is_left_out(value, more):
    written = {**json.loads(value.value()), **more}
    assert parse(value.key(), json.dumps(written).encode()) == value


def test_a_field_that_an_older_release_did_not_write_has_its_default():
    older = json.loads(FlowStatus("f", generation=3).value())
    del older["units"], older["reason"]
    assert parse(FlowStatus("f").key(), json.dumps(older).encode()) == FlowStatus("f", generation=3)


@given(values)
def test_a_tombstone_is_nothing(value):
    assert parse(value.key(), None) is None
    assert parse(None, value.value()) is None


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_what_is_not_ours_is_nothing(key, value):
    assert parse(key, value) is None


@pytest.mark.parametrize("key", [b"[1]", b"1", b'"anchor"', b'{"kind":"offsets"}', b"{}", b"\xff"])
def test_a_key_of_another_shape_is_nothing(key):
    assert parse(key, Control("f").value()) is None


def test_records_of_other_kinds_can_be_passed_over():
    read = parse_only(GroupPositions)
    shop = GroupPositions("A->B", 'a "kind":"point" shop', (("t", 0, 5),), 7)
    assert read(shop.key(), shop.value()) == shop
    point = OffsetPoint("A->B", "t", 0, 1)
    assert read(point.key(), b"not decoded") is None
    assert read(None, shop.value()) is None
