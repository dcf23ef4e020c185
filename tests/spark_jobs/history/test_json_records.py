"""Records in lines of JSON, as an export of a diverged tail writes them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.export.record_reader import ExportedRecord, json_line
from spark_jobs.history.json_records import record_of

content = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
headers = st.lists(st.tuples(st.text(max_size=5), content), max_size=3)


@given(st.integers(0, 2**62), st.integers(-1, 2**41), content, content, headers)
def test_a_line_of_an_export_is_the_record_again(offset, timestamp, key, value, named):
    line = json_line(ExportedRecord("orders", 3, offset, timestamp, key, value, named))
    assert record_of(line) == {
        "topic": "orders",
        "partition": 3,
        "offset": offset,
        "timestamp": timestamp,
        "key": key,
        "value": value,
        "headers": [{"key": name, "value": each} for name, each in named],
    }


RECORD = {"partition": 0, "offset": 1, "timestamp": 2, "value": "v"}


def test_topic_key_and_headers_may_be_missing():
    found = record_of(json.dumps(RECORD))
    assert (found["topic"], found["key"], found["headers"]) == (None, None, [])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"offset": None}, "offset is not a whole number"),
        ({"offset": 1.5}, "offset is not a whole number"),
        ({"partition": True}, "partition is not a whole number"),
        ({"topic": 7}, "topic is not a string"),
        ({"value": 7}, "value is neither text nor"),
        ({"value": {"base64": "?"}}, "value is neither text nor"),
        ({"value": {"base64": "aaaa", "more": 1}}, "value is neither text nor"),
        ({"headers": {"a": "b"}}, "headers is not a list of pairs"),
        ({"headers": [["a"]]}, "headers is not a list of pairs"),
        ({"headers": [["a", 5]]}, "a is neither text nor"),
    ],
)
def test_what_is_no_record_says_why(change, why):
    with pytest.raises(ValueError, match=why):
        record_of(json.dumps({**RECORD, **change}))


@pytest.mark.parametrize(
    ("line", "why"), [("{", "it is not valid JSON"), ("[1]", "it is not a JSON object")]
)
def test_what_is_no_object_says_so(line, why):
    with pytest.raises(ValueError, match=why):
        record_of(line)
