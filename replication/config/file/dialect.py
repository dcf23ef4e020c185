"""Accepts the looser spellings that guides show, with a warning for each.

Quotes around values, comments behind them, ``30s`` for a number, ``Integer.MAX_VALUE``.
Pure: a value in, a plain value and remarks out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from replication.durations import parse_duration, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator

JAVA_CONSTANTS = {
    "Integer.MAX_VALUE": "2147483647",
    "Integer.MIN_VALUE": "-2147483648",
    "Long.MAX_VALUE": "9223372036854775807",
    "Long.MIN_VALUE": "-9223372036854775808",
    "Short.MAX_VALUE": "32767",
}
_WITH_UNIT = re.compile(r"\d+\s*(ms|s|m|h|d)", re.ASCII)
_QUOTES = "\"'"


@dataclass(frozen=True, slots=True)
class SpellingRemark:
    """What was done to a value, and how MirrorMaker 2 would have it written."""

    message: str
    write: str = ""


class UnclosedQuote(ValueError):
    """A quote opens and nothing closes it."""


def plain_value(text: str) -> tuple[str, tuple[SpellingRemark, ...]]:
    """Return a single value without comment and quotes. Raises UnclosedQuote."""
    kept, remarks = _without_comment(text)
    bare = _unquoted(kept)
    if bare != kept:
        remarks = (
            *remarks,
            SpellingRemark("the quotes around the value are removed", "write it without quotes"),
        )
    if bare in JAVA_CONSTANTS:
        number = JAVA_CONSTANTS[bare]
        remarks = (*remarks, SpellingRemark(f"{bare} is read as {number}", number))
        bare = number
    return bare, remarks


def list_value(text: str, *, pattern: bool = False) -> tuple[str, tuple[SpellingRemark, ...]]:
    """Return a list without comment, and without the quotes around its items.

    ``pattern``: a ``#`` inside brackets belongs to a regex. Raises UnclosedQuote.
    """
    kept, remarks = _without_comment(text, pattern=pattern)
    items = [each.strip() for each in _split(kept)]
    bare = [_unquoted(each) for each in items]
    if len(items) > 1 and kept.startswith('"') and kept.endswith('"') and items == bare:
        bare = [each.strip() for each in kept[1:-1].split(",")]
    if bare == items:
        return kept, remarks
    result = ",".join(bare)
    remark = SpellingRemark("the quotes around the list's items are removed", result)
    return result, (*remarks, remark)


def secret_value(text: str, *, jaas: bool = False) -> tuple[str, tuple[SpellingRemark, ...]]:
    """Return a password or a JAAS line; only quotes around the whole are taken off."""
    kept = text.strip() if jaas else text
    remarks: tuple[SpellingRemark, ...] = ()
    if jaas and (end := _after_jaas(kept)) is not None:
        kept = kept[:end]
        remarks = (_COMMENT,)
    trimmed = kept.strip()
    if len(trimmed) >= 2 and trimmed[0] in _QUOTES and trimmed[-1] == trimmed[0]:
        remark = SpellingRemark(
            "the quotes around the value are removed",
            "write it without quotes; write quotes that belong to the password twice",
        )
        return trimmed[1:-1], (*remarks, remark)
    return kept, remarks


def in_unit(
    text: str, key: str, unit_name: str | None = None
) -> tuple[str, tuple[SpellingRemark, ...]]:
    """Return an interval as a plain number in the unit ``unit_name``, by default the key's own.

    A number without a unit counts in the unit that ``key`` ends in, else in seconds.
    """
    own = unit_of(key)
    unit = unit_name or own
    has_unit = _WITH_UNIT.fullmatch(text) is not None
    if unit is None or (own == unit and not has_unit):
        return text, ()
    try:
        span = parse_duration(text, own or "s")
    except ValueError:
        return text, ()  # reported where the number is read
    whole, rest = divmod(span, parse_duration("1", unit))
    number = f"{span // timedelta(milliseconds=1)}ms" if rest else str(whole)
    if not has_unit:
        return number, ()
    read_as = number if rest else f"{number} {unit}"
    return number, (SpellingRemark(f"{text} is read as {read_as}", number),)


def flow_arrow(key: str, value: str) -> str | None:
    """Return the key that was meant where blanks around the arrow have cut it, else None."""
    if not (key.endswith("->") or value.startswith("->")):
        return None
    whole = re.split(r"[=:]", f"{key} {value}", maxsplit=1)[0]
    return re.sub(r"\s*->\s*", "->", whole.strip())


_COMMENT = SpellingRemark(
    "the comment after the value is removed", "write the comment on its own line"
)


def _without_comment(text: str, *, pattern: bool = False) -> tuple[str, tuple[SpellingRemark, ...]]:
    for index in _hashes(text):
        before = text[:index]
        if pattern and _inside_brackets(before):
            continue
        return before.strip(), (_COMMENT,)
    return text.strip(), ()


def _hashes(text: str) -> Iterator[int]:
    """Yield where a comment may begin: a ``#`` after a blank, or first, outside quotes."""
    quote = ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES and text[:index].rstrip()[-1:] in ("", ","):
            quote = char
        elif char == "#" and (index == 0 or text[index - 1] in " \t"):
            yield index


def _inside_brackets(text: str) -> bool:
    plain = re.sub(r"\\.", "", text)
    return any(plain.count(left) > plain.count(right) for left, right in ("[]", "()"))


def _split(text: str) -> list[str]:
    """Split at commas outside quotes."""
    items, quote = [""], ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES and not items[-1].strip():
            quote = char
        if char == "," and not quote:
            items.append("")
        else:
            items[-1] += char
    if quote:
        raise UnclosedQuote(f"the quote {quote} is not closed")
    return items


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] in _QUOTES and text[-1] == text[0]:
        return text[1:-1].strip()
    if text[:1] == '"' and text.count('"') == 1:
        raise UnclosedQuote('the quote " is not closed')
    return text


def _after_jaas(text: str) -> int | None:
    """Return where a JAAS line ends when a comment follows it."""
    match = re.fullmatch(r"(.*;\"?)\s+#[^;]*", text, re.DOTALL)
    if match is None or match[1].replace('\\"', "").count('"') % 2:
        return None
    return match.end(1)
