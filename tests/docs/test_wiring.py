"""An object is complete when it is constructed: nobody assigns a function to it afterwards."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("replication", "spark_jobs", "orchestration")
NOT_OURS = {"spark_jobs/process/spark_session.py: server.handle_error"}  # py4j's server


@cache
def trees() -> dict[str, ast.Module]:
    files = sorted(each for folder in FOLDERS for each in (ROOT / folder).rglob("*.py"))
    return {str(each.relative_to(ROOT)): ast.parse(each.read_text()) for each in files}


@cache
def methods() -> frozenset[str]:
    """Return the names that are methods and nothing else: no property, no field, no variable."""
    called, others = set(), set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                (others if node.decorator_list else called).add(node.name)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                others.add(node.id if isinstance(node, ast.Name) else node.attr)
    return frozenset(called - others)


def is_function(value: ast.expr, known: frozenset[str]) -> bool:
    """Say whether a value is a function: a lambda, a partial one, or a method."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in {"partial", "functools.partial"}
    is_method = isinstance(value, ast.Attribute) and value.attr in known
    return is_method or isinstance(value, ast.Lambda)


def hooks(tree: ast.AST, known: frozenset[str]) -> list[str]:
    """Return what functions are assigned to: attributes of objects other than ``self``."""
    return [
        ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and is_function(node.value, known)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) != "self"
    ]


def test_no_function_is_assigned_to_another_object():
    found = {f"{file}: {each}" for file, tree in trees().items() for each in hooks(tree, methods())}
    assert found == NOT_OURS


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("sync.warn = partial(self._warn, name)", ["sync.warn"]),
        ("sync.remember = reader.read_on", ["sync.remember"]),
        ("self.sync.wait = lambda _: None", ["self.sync.wait"]),
        ("self.warn = partial(print, name)", []),
        ("point.count = int(value)", []),
    ],
)
def test_which_assignments_are_found(code, found):
    assert hooks(ast.parse(code), frozenset({"read_on"})) == found
