"""Mutants by the names that mutmut gives them, and what became of them. Pure."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SURVIVED, NO_TESTS, NOT_RUN = "survived", "no tests", "not checked"
_NAME = re.compile(r"(?P<module>.+)\.x(ǁ(?P<owner>[^ǁ]+)ǁ|_)(?P<function>[^ǁ]+)__mutmut_\d+")
_RESULT = re.compile(r"\s*(?P<name>\S+__mutmut_\d+): (?P<status>.+)")
_HUNK = re.compile(r"@@ -(\d+)")


@dataclass(frozen=True, slots=True)
class MutatedFunction:
    """The function that a mutant changes; ``owner`` is its class, if it has one."""

    module: str
    owner: str | None
    function: str

    @classmethod
    def of(cls, mutant: str) -> MutatedFunction:
        """Return the place of a mutant. Raises ValueError for what is none of mutmut's names."""
        found = _NAME.fullmatch(mutant)
        if found is None:
            raise ValueError(f"{mutant} is no name of a mutant")
        return cls(found["module"], found["owner"], found["function"])

    @property
    def path(self) -> str:
        return self.module.replace(".", "/") + ".py"

    def first_line(self, source: str) -> int:
        """Return the number of the function's first line in its file, decorators included."""
        inside: ast.AST = ast.parse(source)
        for name in filter(None, (self.owner, self.function)):
            inside = next(
                each
                for each in ast.walk(inside)
                if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and each.name == name
            )
        assert isinstance(inside, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - for mypy
        return min([inside.lineno, *(each.lineno for each in inside.decorator_list)])


def statuses(results: str) -> dict[str, str]:
    """Return the status of each mutant in what ``mutmut results`` prints."""
    found = map(_RESULT.fullmatch, results.splitlines())
    return {each["name"]: each["status"].strip() for each in found if each is not None}


def sample(names: Iterable[str], count: int, seed: int) -> list[str]:
    """Return ``count`` mutants, the same ones for the same seed and code."""
    listed = sorted(names)
    return random.Random(seed).sample(listed, min(count, len(listed)))


def summary(drawn: Mapping[str, str]) -> str:
    """Return how many mutants have each status, the most frequent first."""
    counts: dict[str, int] = {}
    for status in drawn.values():
        counts[status] = counts.get(status, 0) + 1
    listed = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return f"{len(drawn)} mutants: " + ", ".join(f"{count} {status}" for status, count in listed)


def untested(drawn: Mapping[str, str]) -> list[str]:
    """Return the functions that no test calls, with the number of their mutants."""
    counts: dict[MutatedFunction, int] = {}
    for name, status in drawn.items():
        if status == NO_TESTS:
            counts[MutatedFunction.of(name)] = counts.get(MutatedFunction.of(name), 0) + 1
    return sorted(
        f"{place.path}: {'.'.join(filter(None, (place.owner, place.function)))}, {count} mutants"
        for place, count in counts.items()
    )


def changed_line(diff: Sequence[str], first_line: int) -> int:
    """Return the line that a diff changes. It counts from the function's own first line, from 1."""
    at = 0
    for line in diff:
        if found := _HUNK.match(line):
            at = int(found[1])
        elif at and line.startswith(("-", "+")):
            return first_line + at - 1
        elif at:
            at += 1
    return first_line
