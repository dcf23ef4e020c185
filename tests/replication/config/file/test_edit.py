"""One key of a properties file is set; nothing else of the text changes."""

from __future__ import annotations

import pytest

from replication.config.file.edit import with_value, without
from replication.config.file.properties import parse_properties

TEXT = """\
# clusters
clusters = A, B
A->B.enabled: true
A->B.topics = orders, \\
    stock
! the end
lag.sla.seconds = 60
"""


def values(text: str) -> dict[str, str]:
    return {each.key: each.value for each in parse_properties(text)}


def test_a_line_is_replaced_with_its_continuation_and_all_others_stay():
    edited = with_value(TEXT, "A->B.topics", "orders")
    assert edited == TEXT.replace("orders, \\\n    stock", "orders")


def test_of_a_repeated_key_the_line_that_counts_is_replaced():
    edited = with_value("a = 1\na = 2\n", "a", "3")
    assert edited == "a = 1\na = 3\n"


def test_a_new_key_stands_with_its_flow_or_at_the_end():
    assert "    stock\nA->B.groups = g\n! the end" in with_value(TEXT, "A->B.groups", "g")
    assert with_value("a = 1", "b", "2") == "a = 1\nb = 2\n"
    assert with_value("", "b", "2") == "b = 2\n"


@pytest.mark.parametrize("value", [r"evt\d+", " leading", "tab\there", "a=b:c #d", "", "ü→😀"])
def test_the_value_means_what_was_given(value):
    assert values(with_value(TEXT, "A->B.topics", value))["A->B.topics"] == value
    assert values(with_value(TEXT, "x y=z", value))["x y=z"] == value


def test_line_ends_of_windows_and_a_missing_last_one_stay():
    assert with_value("a = 1\r\nb = 2", "b", "3") == "a = 1\r\nb = 3"
    assert with_value("a = 1\r\n", "b", "3") == "a = 1\r\nb = 3\r\n"


def test_a_removed_key_leaves_no_line():
    assert without(TEXT, "A->B.topics") == TEXT.replace("A->B.topics = orders, \\\n    stock\n", "")
    assert without(TEXT, "x") == TEXT
