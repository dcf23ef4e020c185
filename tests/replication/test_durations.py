from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.durations import format_duration, parse_duration, unit_of


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("30s", timedelta(seconds=30)),
        ("5 m", timedelta(minutes=5)),
        ("1h", timedelta(hours=1)),
        ("2d", timedelta(days=2)),
        ("250ms", timedelta(milliseconds=250)),
        ("7", timedelta(seconds=7)),
    ],
)
def test_a_span_is_read_with_its_unit(text, span):
    assert parse_duration(text) == span


def test_a_number_counts_in_the_unit_asked_for():
    assert parse_duration("7", "ms") == timedelta(milliseconds=7)


@pytest.mark.parametrize("text", ["", "s", "-1s", "1.5h", "10 parsecs", "٣s"])
def test_anything_else_is_refused_with_a_fix(text):
    with pytest.raises(ValueError, match="write a number and a unit"):
        parse_duration(text)


def test_a_span_too_long_to_count_is_refused():
    with pytest.raises(ValueError, match="longer than"):
        parse_duration("99999999999999d")


def test_a_key_names_its_unit():
    assert [unit_of(key) for key in ("a.ms", "a.seconds", "a.interval")] == ["ms", "s", None]


@given(st.integers(min_value=0, max_value=10**12))
def test_what_is_formatted_parses_back(milliseconds):
    span = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(span)) == span
