"""Numbers, literals and dates as Java prints them. Pure."""

from __future__ import annotations

import re
import struct
from datetime import UTC, datetime
from decimal import Decimal

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LEAST, _LARGE = 1e-3, 1e7  # between them Java writes no exponent
_LONGEST = 1 << 63
_FLOAT_DIGITS = 7  # that every 32-bit number keeps
_STRUCTURED = ("[", "{", '"', "null")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}:")
_FIELDS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")


def double_text(value: float) -> str:
    """Return ``Double.toString(value)`` of a finite number: the shortest digits (JDK 19)."""
    return _java_float(repr(abs(value)), value)


def float_text(value: float) -> str:
    """Return ``Float.toString``: the shortest digits that are this 32-bit number."""
    for digits in range(1, 10):
        text = f"{abs(value):.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", abs(value)):
            return _java_float(text, value)
    return double_text(value)


def _java_float(text: str, value: float) -> str:
    sign = "-" if str(value).startswith("-") else ""
    number = Decimal(text)
    if number == 0:
        return f"{sign}0.0"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0") or "0"
    scale = number.adjusted()
    if _LEAST <= abs(value) < _LARGE:
        plain = f"{number:f}"
        return sign + (plain if "." in plain else f"{plain}.0")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{scale}"


def literal_text(literal: str) -> str:
    """Return the text that Connect's SimpleHeaderConverter writes for ``value.literal``.

    ``Values.parseString`` guesses a type: numbers lose their spelling. Raises ValueError for what
    it would take for a list, a map, a quoted text, or a date, and for a number that it rounds.
    """
    text = literal.strip()
    if text.startswith(_STRUCTURED) or _DATE.match(text):
        raise ValueError(f"Connect takes {literal} for a list, a map, a quoted text or a date")
    if not _NUMBER.fullmatch(text):
        return text
    number = Decimal(text)
    if number == number.to_integral_value() and abs(number) < _LONGEST:
        return str(int(number))
    if len(number.as_tuple().digits) > _FLOAT_DIGITS:
        raise ValueError(f"Connect rounds {literal} to 32 bits: write at most 7 digits")
    return float_text(float(number)) if _is_float(number) else double_text(float(number))


def _is_float(number: Decimal) -> bool:
    """Say whether Connect takes a fraction for a 32-bit float: its BigDecimal fits into one."""
    try:
        packed = struct.unpack("f", struct.pack("f", float(number)))[0]
    except OverflowError:
        return False
    return abs(packed) not in (float("inf"), 0.0)


def date_text(pattern: str, timestamp_ms: int) -> str:
    """Return a time as SimpleDateFormat writes it in UTC. Raises ValueError: see ``check_date``."""
    moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    return "".join(_part(each, moment, timestamp_ms % 1000) for each in _parts(pattern))


def check_date(pattern: str) -> None:
    """Raise ValueError for a letter of SimpleDateFormat that is not among yMdDHkmsS."""
    date_text(pattern, 0)


def _parts(pattern: str) -> list[str]:
    found = [each[0] for each in _FIELDS.finditer(pattern)]
    if "".join(found) != pattern:
        raise ValueError(f"{pattern} has a quote that is not closed")
    return found


def _part(text: str, moment: datetime, ms: int) -> str:
    if not text[0].isalpha():
        return text[1:-1].replace("''", "'") or "'" if text.startswith("'") else text
    letter, width = text[0], len(text)
    numbers = {
        "y": moment.year,
        "d": moment.day,
        "D": moment.timetuple().tm_yday,
        "H": moment.hour,
        "k": moment.hour or 24,
        "m": moment.minute,
        "s": moment.second,
        "S": ms,
    }
    if letter == "M" and width <= 2:
        return f"{moment.month:0{width}d}"
    if letter == "y" and width == 2:
        return f"{moment.year % 100:02d}"
    if letter not in numbers:
        raise ValueError(f"{text} is not supported: write one of yyyy, MM, dd, HH, mm, ss, SSS")
    return f"{numbers[letter]:0{width}d}"
