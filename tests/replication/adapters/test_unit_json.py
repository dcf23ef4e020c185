"""Specs, reports and plans are equal after a round trip through JSON; nothing else is read."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.adapters import unit_json
from replication.copier.spec import UnitReport, UnitSpec
from replication.model import Choice, Mode, NameChange, PartitionPlan, TopicPartition
from replication.settings.copy_settings import CopySettings
from replication.settings.state_policies import Policies

COPYING = CopySettings(
    units=3,
    buffer_bytes=1 << 20,
    epoch=timedelta(seconds=7),
    anchor_every=timedelta(milliseconds=250),
    start="1700000000000",
    start_offsets={"orders": {0: 5, 11: 9}},
    until_offsets={"orders": {0: 8}},
    bytes_per_second=99,
    target_free_percent=7,
    priority_topics=("a.*", "b"),
    delivery="append",
    isolation="read_uncommitted",
    client_rack="r1",
)
SPEC = UnitSpec(
    flow="A->B",
    source_alias="A",
    target_alias="B",
    unit=2,
    generation=3,
    epoch=4,
    partitions=(),
    source={"bootstrap.servers": "a:1"},
    target={"bootstrap.servers": "b:1"},
    copying=COPYING,
    policies=Policies(refused="skip", dead_letters=True),
    target_is_replicated=True,
    grace_s=3.0,
)


def test_a_spec_comes_back_with_all_its_settings():
    default = CopySettings()
    assert all(getattr(COPYING, e.name) != getattr(default, e.name) for e in fields(COPYING))
    assert unit_json.spec_of(unit_json.spec_text(SPEC)) == SPEC


def test_the_seconds_of_a_unit_are_those_of_its_settings():
    assert (SPEC.epoch_s, SPEC.anchor_every_s) == (7.0, 0.25)


def test_plans_come_back_from_a_table_that_names_their_fields_once():
    one = PartitionPlan(TopicPartition("orders", 0), TopicPartition("A.orders", 0), "aa", "bb")
    two = replace(
        one,
        created_later=True,
        since_ms=1_700_000_000_000,
        first=True,
        start=12,
        decision=Choice("LOST_RANGE", 4, "continue"),
    )
    table = json.loads(json.dumps(unit_json.partition_table([one, two])))
    assert table["fields"] == [each.name for each in fields(PartitionPlan)]
    assert unit_json.partitions_of(table) == [one, two]


def test_there_is_no_plan_in_what_is_no_table():
    assert unit_json.partitions_of({"number": 0}) == []


TEXT = st.text(max_size=8)  # any characters, half surrogate pairs too
NUMBER = st.integers(-(2**63), 2**63 - 1)
MAPS = st.dictionaries(TEXT, TEXT, max_size=3)
SPAN = st.timedeltas()
ENDS = st.builds(TopicPartition, TEXT, NUMBER)


def built(kind, **special):
    """Build a dataclass with any values of its fields' types."""
    scalars = {str: TEXT, int: NUMBER, bool: st.booleans(), float: st.floats(allow_nan=False),
               timedelta: SPAN}  # fmt: skip
    simple = {name: scalars[each] for name, each in get_type_hints(kind).items() if each in scalars}
    return st.builds(kind, **{**simple, **special})


PLANS = built(
    PartitionPlan,
    source=ENDS,
    target=ENDS,
    since_ms=st.none() | NUMBER,
    mode=st.sampled_from(Mode),
    start=st.none() | NUMBER,
    decision=st.none() | st.builds(Choice, TEXT, NUMBER, TEXT),
    name_change=st.none() | st.builds(NameChange, TEXT, TEXT, TEXT),
)
SPECS = built(
    UnitSpec,
    partitions=st.lists(PLANS, max_size=3).map(tuple),
    source=MAPS,
    target=MAPS,
    copying=built(
        CopySettings,
        start_offsets=st.dictionaries(
            TEXT, st.dictionaries(NUMBER, NUMBER, max_size=2), max_size=2
        ),
        priority_topics=st.lists(TEXT, max_size=2).map(tuple),
    ),
    policies=built(Policies),
)


@given(SPECS)
def test_any_spec_comes_back_equal_and_of_the_same_types(spec):
    back = unit_json.spec_of(unit_json.spec_text(spec))
    assert back == spec
    assert types_in(back) == types_in(spec)


@given(built(UnitReport))
def test_any_report_comes_back_equal_and_of_the_same_types(report):
    back = unit_json.report_of(unit_json.report_text(report))
    assert back == report
    assert types_in(back) == types_in(report)


def types_in(value: object) -> object:
    """Return the types of a value and of all in it; a mode is text wherever it goes."""
    if isinstance(value, Mode):
        return str
    if is_dataclass(value):
        return type(value), [types_in(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, tuple | list):
        return type(value), [types_in(each) for each in value]
    if isinstance(value, dict):
        return dict, [(types_in(key), types_in(each)) for key, each in value.items()]
    return type(value)


def changed(**content) -> str:
    return json.dumps({**json.loads(unit_json.spec_text(SPEC)), **content})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("null", id="null"),
        pytest.param("[]", id="a list"),
        pytest.param("{}", id="an empty object"),
        pytest.param(b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.", id="a pickle"),
        pytest.param("[" * 100_000, id="nested too deep"),
        pytest.param(changed(flow=3), id="a number for a text"),
        pytest.param(changed(unit="2"), id="a text for a number"),
        pytest.param(changed(stamps=1), id="a number for true"),
        pytest.param(changed(unit=True), id="true for a number"),
        pytest.param(changed(grace_s="inf"), id="a text for seconds"),
        pytest.param(changed(unknown=1), id="an unknown field"),
        pytest.param(changed(source=[]), id="a list for a mapping"),
        pytest.param(changed(target={"password": 1}), id="a number in a mapping"),
        pytest.param(changed(partitions=None), id="no table"),
        pytest.param(changed(partitions={"fields": ["mode"], "partitions": [["a", "b"]]}),
                     id="a row that is too long"),
        pytest.param(changed(partitions={"fields": ["x"], "partitions": [[1]]}),
                     id="an unknown column"),
        pytest.param(changed(partitions={"fields": ["source", "target"],
                                         "partitions": [[["t", "0"], ["t", 0]]]}),
                     id="a text for a partition's number"),
    ],
)  # fmt: skip
def test_what_is_no_spec_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        unit_json.spec_of(text)
    with pytest.raises(ValueError, match=r"."):
        unit_json.report_of(text)
