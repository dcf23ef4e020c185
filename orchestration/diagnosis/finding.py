"""One finding of a diagnosis: its level, where it is, what is, and what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 3


class FindingLevel(StrEnum):
    """How much a finding matters, least first."""

    OK = "ok"
    NOTE = "note"  # known and harmless, or not known and not needed
    WARNING = "warning"  # flows run, and something will go wrong under conditions it names
    ERROR = "error"  # something is not copied, or will not be


class DiagnosisFinding(NamedTuple):
    """``where``: this machine, ``cluster A`` or ``flow A->B``; ``check``: what was asked."""

    level: FindingLevel
    where: str
    check: str
    what: str
    to_do: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return the finding for ``-o json``; its keys are kept for scripts."""
        return {
            "level": str(self.level),
            "where": self.where,
            "check": self.check,
            "what": self.what,
            "to_do": self.to_do,
        }


def of_level(
    findings: Iterable[DiagnosisFinding], level: FindingLevel
) -> tuple[DiagnosisFinding, ...]:
    """Return the findings of one level, in order."""
    return tuple(each for each in findings if each.level is level)


def verdict(findings: Iterable[DiagnosisFinding]) -> str:
    """Return a line with the number of errors and warnings, and the first of them."""
    findings = tuple(findings)
    errors, warnings = (
        of_level(findings, each) for each in (FindingLevel.ERROR, FindingLevel.WARNING)
    )
    counts = f"{_counted(len(errors), 'error')}, {_counted(len(warnings), 'warning')}"
    first = next(iter((*errors, *warnings)), None)
    return f"{counts}; the first: {first.where}: {first.what}" if first else counts


def some(names: Iterable[object]) -> str:
    """Return the first names, and how many more there are."""
    found = [str(each) for each in names]
    more = len(found) - _SHOWN
    return ", ".join(found[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
