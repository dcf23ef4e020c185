"""Tables whose values stay whole, however narrow the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from orchestration.cli.screen.text_table import Column, TextTable, fitted


def shown(table: TextTable, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), soft_wrap=True, record=True)
    console.print(table)
    return console.export_text().splitlines()


@pytest.fixture
def table() -> TextTable:
    table = TextTable([Column("flow"), Column("source"), Column("lag", right=True)], "Flows")
    table.add("east->west", "127.0.0.1:34567\n127.0.0.1:34568", "7")
    table.add("datacenter-east->datacenter-west", "127.0.0.1:1", "12,345")
    return table


def test_a_table_that_fits_has_aligned_columns_and_no_line_more(table):
    assert shown(table, 80) == [
        "Flows",
        "flow                              source              lag",
        "east->west                        127.0.0.1:34567       7",
        "                                  127.0.0.1:34568",
        "datacenter-east->datacenter-west  127.0.0.1:1      12,345",
    ]


def test_a_first_value_that_does_not_fit_stands_whole_above_its_row(table):
    assert shown(table, 40) == [
        "Flows",
        "flow             source              lag",
        "east->west       127.0.0.1:34567       7",
        "                 127.0.0.1:34568",
        "datacenter-east->datacenter-west",
        "                 127.0.0.1:1      12,345",
    ]


def test_any_other_value_that_does_not_fit_stands_whole_below_its_row_with_its_header():
    table = TextTable([Column("flow"), Column("source"), Column("lag", right=True)])
    table.add("east->west", "127.0.0.1:34567\n127.0.0.1:34568", "7")
    assert shown(table, 30) == [
        "flow        source         lag",
        "east->west                   7",
        "    source: 127.0.0.1:34567, 127.0.0.1:34568",
    ]


def test_columns_are_never_narrower_than_their_headers():
    assert fitted([30, 20, 5], [8, 8, 5], 10) == [8, 8, 5]


def test_what_looks_like_markup_is_shown_as_it_is():
    table = TextTable([Column("topics")])
    table.add("[bold]x")
    assert shown(table, 80)[1] == "[bold]x"
