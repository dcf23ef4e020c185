"""What the text of an expression says by itself: its parts, and the columns that it may name. Pure.

Spark analyses it later; this only has to name every column that Spark may find there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_STAR = re.compile(r"\*\s*($|[,)]|except\b)", re.IGNORECASE)  # no product: all columns
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_WORD = re.compile(r"(?<![.:\w])(?!\d)\w+|`[^`]+`")  # behind a dot or a colon: a field, a type


def columns_in(text: str, names: Collection[str]) -> set[str]:
    """Return those of ``names`` that an expression may name; perhaps some that it does not."""
    bare = _QUOTED.sub("''", text)
    if _STAR.search(bare):
        return {*names}
    words = {each.strip("`").casefold() for each in _WORD.findall(bare)}
    return {each for each in names if each.casefold() in words}


def parts_of(text: str) -> list[str]:
    """Split a list of expressions at its commas, but not within brackets and quotes."""
    return [each.strip() for each in _parts(text) if each.strip()]


def _parts(text: str) -> Iterator[str]:
    depth, quote, begin = 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]
