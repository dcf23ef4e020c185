"""The page on MirrorMaker 2's scenarios says nothing that the tests do not show."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "mm2-parity.md").read_text()
ROW = re.compile(r"^\| ([A-Z]+-\d\d[a-d]?) \| (.*) \| (.*) \|$", re.MULTILINE)
# How many scenarios MirrorMaker 2 has of each kind.
SCENARIOS = {
    "CFG": 16, "CON": 13, "SRC": 10, "SC": 28, "ST": 7, "OW": 3, "WF": 3, "MET": 1, "OS": 8,
    "CC": 16, "CK": 6, "CT": 9, "CS": 2, "HB": 10, "MU": 7, "MC": 12, "RP": 4, "SAT": 1, "IT": 13,
    "IV": 9, "DM": 3,
}  # fmt: skip


def rows() -> list[tuple[str, list[str], str]]:
    return [(row[1], re.findall(r"`([^`]+)`", row[2]), row[3]) for row in ROW.finditer(PAGE)]


@functools.cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_scenario_stands_there_once():
    names = Counter(name for name, _, _ in rows())
    assert set(names.values()) == {1}
    assert Counter(name.partition("-")[0] for name in names) == SCENARIOS


def test_every_scenario_has_a_test_or_a_reason():
    assert [name for name, shown, why in rows() if not shown and not why] == []


@pytest.mark.parametrize("path", sorted({t.partition("::")[0] for _, ts, _ in rows() for t in ts}))
def test_every_test_that_is_named_there_exists(path):
    named = {each for _, shown, _ in rows() for each in shown}
    expected = {
        name for each in named for at, _, name in [each.partition("::")] if at == path and name
    }
    assert expected <= names_in(path)


def is_shown(tests: list[str]) -> bool:
    """Whether one of these tests exists: a function, or a file with some."""
    for each in tests:
        path, _, name = each.partition("::")
        there = names_in(path) if (TESTS / path).exists() else set()
        if name in there if name else any(other.startswith("test_") for other in there):
            return True
    return False


def test_the_count_is_right():
    (stated,) = re.findall(r"(\d+) of (\d+) are shown by a test", PAGE)
    shown = sum(is_shown(tests) for _, tests, _ in rows())
    assert tuple(map(int, stated)) == (shown, sum(SCENARIOS.values()))
