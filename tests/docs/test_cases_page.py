"""The page on operators' faults names tests that exist, and that are about the fault."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "cases.md").read_text()
ROW = re.compile(r"^\| (BL-\d{3}) \| (.+) \| (.+) \|$", re.MULTILINE)
ROWS = [(row[1], re.findall(r"`([^`]+::[^`]+)`", row[3])) for row in ROW.finditer(PAGE)]

FOUND = re.compile(r"^\| (USE-\d\d) \| .+ \| (.+) \|$", re.MULTILINE)
FOUND_ROWS = [(row[1], re.findall(r"`([^`]+::[^`]+)`", row[2])) for row in FOUND.finditer(PAGE)]


@cache
def about(path: str) -> dict[str, str]:
    """Return name and docstring of each test of a file, by its name."""
    tree = ast.parse((TESTS / path).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {each.name: f"{each.name} {ast.get_docstring(each) or ''}" for each in functions}


def test_every_fault_stands_there_once_and_in_order():
    ids = [name for name, _ in ROWS]
    assert ids == sorted(set(ids))
    assert len(ids) == 110


@pytest.mark.parametrize(("name", "tests"), ROWS, ids=[name for name, _ in ROWS])
def test_every_test_that_is_named_there_exists_and_names_the_fault(name, tests):
    for path, _, test in (each.partition("::") for each in tests):
        output = about(path).get(test, "")
        assert name in output or name.lower().replace("-", "_") in output, f"{path}::{test}"


@pytest.mark.parametrize(("name", "tests"), FOUND_ROWS, ids=[name for name, _ in FOUND_ROWS])
def test_every_fault_that_was_found_by_use_has_tests(name, tests):
    missing = [each for each in tests if each.partition("::")[2] not in about(each.split("::")[0])]
    assert (bool(tests), missing) == (True, []), name
