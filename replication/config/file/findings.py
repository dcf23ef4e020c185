"""Findings about a file: an error to fix, a warning, or a note, each with its line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class ConfigFinding:
    """One remark on one key. ``line`` 0: the file as a whole."""

    severity: Severity
    file: Path
    line: int
    key: str
    message: str
    suggestion: str = ""

    @property
    def where(self) -> str:
        """``file:line``, or the file alone."""
        return f"{self.file}:{self.line}" if self.line else str(self.file)

    def __str__(self) -> str:
        key = f"{self.key}: " if self.key else ""
        tail = f" → {self.suggestion}" if self.suggestion else ""
        return f"{self.where}: {key}{self.message}{tail}"


class Notes:
    """Collects findings, so that all problems of a file come at once."""

    def __init__(self, file: Path, *, lenient: bool = False) -> None:
        self.file = file
        self._lenient = lenient
        self._found: list[ConfigFinding] = []

    def error(self, at: tuple[str, int], message: str, suggestion: str = "") -> None:
        """Note what must be fixed; ``at`` is the key as written and its line."""
        self._add(Severity.ERROR, at, message, suggestion)

    def doubt(self, at: tuple[str, int], message: str, suggestion: str = "") -> None:
        """Note what MirrorMaker 2 passes over in silence: an error, a warning when lenient."""
        severity = Severity.WARNING if self._lenient else Severity.ERROR
        self._add(severity, at, message, suggestion)

    def warn(self, at: tuple[str, int], message: str, suggestion: str = "") -> None:
        """Note what works, but should be looked at."""
        self._add(Severity.WARNING, at, message, suggestion)

    def info(self, at: tuple[str, int], message: str, suggestion: str = "") -> None:
        """Note what an operator may want to know."""
        self._add(Severity.INFO, at, message, suggestion)

    def without_effect(self, at: tuple[str, int], why: str, *, unkept: bool) -> None:
        """Note a key that does nothing; ``unkept``: its value asks for what is not done."""
        if unkept:
            self.warn(at, f"has no effect: {why}", "remove it")
        else:
            self.info(at, f"has no effect: {why}")

    @property
    def has_errors(self) -> bool:
        """Whether there is an error already, of which others may only be consequences."""
        return any(each.severity is Severity.ERROR for each in self._found)

    def sorted(self) -> tuple[ConfigFinding, ...]:
        """Return the findings without repeats, in the order of the file."""
        return tuple(sorted(dict.fromkeys(self._found), key=lambda each: (each.line, each.key)))

    def _add(self, severity: Severity, at: tuple[str, int], message: str, suggestion: str) -> None:
        key, line = at
        self._found.append(ConfigFinding(severity, self.file, line, key, message, suggestion))


def errors(findings: Iterable[ConfigFinding]) -> tuple[ConfigFinding, ...]:
    """Return the findings that forbid a start."""
    return tuple(each for each in findings if each.severity is Severity.ERROR)
