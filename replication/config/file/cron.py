"""Checks a cron line of five fields: minute, hour, day of month, month, day of week."""

from __future__ import annotations

import re

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[str, int, int, list[str]], ...] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of the month", 1, 31, []),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_PART = re.compile(r"(\*|(\w+)(?:-(\w+))?)(?:/(\d+))?", re.ASCII)


def cron(text: str) -> str:
    """Return a cron line with single blanks; an empty one stays empty. Raises ValueError."""
    parts = text.split()
    if parts and len(parts) != len(_FIELDS):
        raise ValueError(f"{text.strip()!r} has {len(parts)} of the five fields of a cron line")
    for part, field in zip(parts, _FIELDS, strict=False):
        for each in part.split(","):
            _check(each, *field)
    return " ".join(parts)


def _check(part: str, field: str, least: int, most: int, names: list[str]) -> None:
    """Raise ValueError unless it is ``*``, a value or a range, with a step or without."""
    found = _PART.fullmatch(part)
    ends = [_number(each, names, least) for each in found.groups()[1:3] if each] if found else []
    step = int(found[4]) if found and found[4] else 1
    bad = found is None or step < 1 or any(e is None or not least <= e <= most for e in ends)
    if bad or (len(ends) == 2 and (ends[0] or 0) > (ends[1] or 0)):
        raise ValueError(f"{part!r} is not a valid {field} of a cron line ({least} to {most})")


def _number(text: str, names: list[str], least: int) -> int | None:
    if text.isdecimal():
        return int(text)
    word = text.lower()
    return names.index(word) + least if word in names else None
