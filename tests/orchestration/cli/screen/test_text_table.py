"""Tables whose values stay whole, however narrow the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from orchestration.cli.screen.text_table import Column, TextTable, fitted


def shown(table: TextTable, width: int, *, terminal: bool = True) -> list[str]:
    console = Console(
        width=width, file=io.StringIO(), soft_wrap=True, record=True, force_terminal=terminal
    )
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


def test_without_a_terminal_each_row_is_one_line(table):
    assert shown(table, 10_000, terminal=False) == [
        "Flows",
        "flow                              source                               lag",
        "east->west                        127.0.0.1:34567, 127.0.0.1:34568       7",
        "datacenter-east->datacenter-west  127.0.0.1:1                       12,345",
    ]


def test_a_wide_terminal_shows_every_row_in_one_line_however_long_its_names_are():
    table = TextTable([Column("flow"), Column("topic"), Column("reason")])
    table.add("a" * 60, "b" * 60, "c" * 70)
    assert shown(table, 200)[1] == f"{'a' * 60}  {'b' * 60}  {'c' * 70}"
    assert [name * 60 in "\n".join(shown(table, 40)) for name in "ab"] == [True, True]
