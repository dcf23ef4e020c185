"""Durations as operators write them (``30s``, ``5m``, or a plain number), and moments in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)?", re.ASCII)


def parse_duration(text: str, unit: str = "s") -> timedelta:
    """Parse a duration; a number without a unit counts in ``unit``.

    Raises ValueError with a message for the operator.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a duration: write a number and a unit, such as 30s, 5m or 1h")
    try:
        return int(match[1]) * _UNITS[match[2] or unit]
    except OverflowError:
        raise ValueError("longer than any duration that can be counted") from None


def format_moment(at_ms: int) -> str:
    """Format a wall clock in ms as date and time in UTC, without fractions of a second."""
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%d %H:%M:%S}"


def format_duration(span: timedelta) -> str:
    """Format ``span`` in its largest unit without a remainder: ``90s``, ``5m``."""
    for unit in ("d", "h", "m", "s"):
        if span and not span % _UNITS[unit]:
            return f"{span // _UNITS[unit]}{unit}"
    return f"{span // _UNITS['ms']}ms"


def unit_of(key: str) -> str | None:
    """Return the unit that a property's name ends in: ``ms``, ``s``, or None."""
    if key.endswith(".ms"):
        return "ms"
    return "s" if key.endswith(".seconds") else None
