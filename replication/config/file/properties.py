r"""Parses Java's ``.properties`` format, with the line of each key.

The rules are those of ``java.util.Properties.load``: ``=``, ``:`` or blanks end a key, ``#`` and
``!`` begin a comment only at the start of a line, an odd number of backslashes at a line's end
continues it, and a backslash before any other character is dropped (``\.`` means ``.``).
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Value:
    """A value and where it was written. ``line`` 0: not written, a default."""

    text: str
    key: str = ""
    line: int = 0
    parsed: object = field(default=None, repr=False)  # what it means; None: not known, or wrong

    @property
    def at(self) -> tuple[str, int]:
        """Key and line, as findings want them."""
        return self.key, self.line


@dataclass(frozen=True, slots=True)
class PropertyEntry:
    """One key and value. ``dropped`` holds the characters that lost a backslash."""

    key: str
    value: str
    line: int
    dropped: str = ""


class MalformedText(ValueError):
    """A file that is no properties file; ``line`` 0: as a whole. ``fix`` says what to do."""

    def __init__(self, line: int, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.line, self.fix = line, fix


def decode(data: bytes) -> str:
    """Return the text of a file: UTF-8 where it is valid, else ISO-8859-1 as Java reads it.

    Raises MalformedText for another encoding, and for bytes of 0, which no setting has.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise MalformedText(0, "is UTF-16 text", "save it as UTF-8")
    if (at := data.find(0)) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise MalformedText(line, "has a byte of 0: this is not a text file", "save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


def parse_properties(text: str) -> tuple[PropertyEntry, ...]:
    """Return all entries in the order of the file, repeated keys too.

    Raises MalformedText.
    """
    return tuple(_entry(line, content) for line, _, content in _logical_lines(text))


def logical_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return of each entry the index of its first line, and that of the line below its last."""
    return tuple((number - 1, after) for number, after, _ in _logical_lines(text))


def as_written(value: str) -> str:
    """Return a value as a line of a file writes it: escaped where it must be."""
    plain = value.replace("\\", "\\\\")
    for name, char in _ESCAPES.items():
        plain = plain.replace(char, f"\\{name}")
    return f"\\{plain}" if plain.startswith(" ") else plain


def _logical_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (number of the first line, that of the last, content) with continuations joined."""
    natural = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    numbered = iter(enumerate(natural, start=1))
    for number, raw in numbered:
        last, line = number, raw.lstrip(_BLANKS)
        if not line or line[0] in "#!":
            continue
        if line == "\\":  # alone on its line it continues nothing
            continue
        parts = [line]
        while _continues(parts[-1]):
            parts[-1] = parts[-1][:-1]
            last, following = next(numbered, (last, ""))
            parts.append(following.lstrip(_BLANKS))
        yield number, last, "".join(parts)


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _entry(line: int, content: str) -> PropertyEntry:
    end = _key_end(content)
    rest = content[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    key, _ = _unescape(content[:end], line)
    value, dropped = _unescape(rest, line)
    return PropertyEntry(key, value, line, dropped)


def _key_end(content: str) -> int:
    escaped = False
    for index, char in enumerate(content):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in "=:" or char in _BLANKS:
            return index
    return len(content)


def _unescape(text: str, line: int) -> tuple[str, str]:
    if "\\" not in text:
        return text, ""
    result: list[str] = []
    dropped: list[str] = []
    chars = iter(range(len(text)))
    for index in chars:
        if text[index] != "\\":
            result.append(text[index])
            continue
        following = text[index + 1 : index + 2]
        next(chars, None)
        if following == "u":
            result.append(_unicode(text[index + 2 : index + 6], line))
            for _ in range(4):
                next(chars, None)
            continue
        if following not in _ESCAPES and following != "\\":
            dropped.append(following)
        result.append(_ESCAPES.get(following, following))
    return _join_surrogates("".join(result)), "".join(dropped)


def _unicode(digits: str, line: int) -> str:
    if len(digits) < 4 or not all(each in "0123456789abcdefABCDEF" for each in digits):
        fix = r"write \\u for a backslash and a u"
        raise MalformedText(line, r"\u must be followed by four hexadecimal digits", fix)
    return chr(int(digits, 16))


def _join_surrogates(text: str) -> str:
    r"""Turn ``\ud83d\ude00`` into the one character that the two halves mean in Java."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
