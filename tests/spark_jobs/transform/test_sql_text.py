"""The columns that the text of an expression may name, and its parts."""

from __future__ import annotations

import pytest

from spark_jobs.transform.sql_text import columns_in, parts_of

NAMES = ("key", "value", "headers", "topic", "partition")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("1 = 1", set()),
        ("VALUE:n::int % 3 = 0", {"value"}),
        ("`Key` is null or key=x''", {"key"}),
        ("exists(headers, header -> header.key = 'value')", {"headers"}),
        ("topic = \"it's partition\" || 'a \\' key'", {"topic"}),
        ("value::int * partition > 3", {"value", "partition"}),
        ("to_json(struct(*)) like '%x%'", {*NAMES}),
        ("count(* )", {*NAMES}),
        ("struct(* except (key))", {*NAMES}),
        ("keys = my_value or offset > 3", set()),
        ("case when -value then partition end", {"value", "partition"}),
    ],
)
def test_every_column_that_an_expression_names_is_found(text, named):
    assert columns_in(text, NAMES) == named


def test_a_list_of_expressions_is_split_at_its_own_commas():
    text = "substr(key, 1, 2) AS key, 'a,\"b' || value AS value,, array(1, 2)[0] AS partition "
    assert parts_of(text) == [
        "substr(key, 1, 2) AS key",
        "'a,\"b' || value AS value",
        "array(1, 2)[0] AS partition",
    ]
