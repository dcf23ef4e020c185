"""Set one key in the text of a properties file; all other lines stay as they are. Pure."""

from __future__ import annotations

from replication.config.file.properties import as_written, logical_spans, parse_properties

_SEPARATORS = "=: \t\f\\"


def with_value(text: str, key: str, value: str) -> str:
    """Return ``text`` with ``key = value`` on the line that counts, the last one with this key.

    A new key gets a line of its own: below the last key of the same scope, such as ``A->B.``, else
    at the end.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    line = f"{_key(key)} = {as_written(value)}"
    lines = text.splitlines(keepends=True)
    spans = _spans_of(text, key)
    if spans:
        first, after = spans[-1]
        ending = newline if lines[after - 1].endswith(("\n", "\r")) else ""
        return "".join([*lines[:first], line + ending, *lines[after:]])
    at = _place(text, key) or len(lines)
    before = lines[:at]
    if before and not before[-1].endswith(("\n", "\r")):
        before[-1] += newline
    return "".join([*before, line + newline, *lines[at:]])


def without(text: str, key: str) -> str:
    """Return ``text`` without the lines of ``key``, so that its default is used."""
    gone = {number for first, after in _spans_of(text, key) for number in range(first, after)}
    lines = enumerate(text.splitlines(keepends=True))
    return "".join(line for number, line in lines if number not in gone)


def _spans_of(text: str, key: str) -> list[tuple[int, int]]:
    """Return the lines of each setting of ``key``: the first one's index, and the next one's."""
    entries = parse_properties(text)
    pairs = zip(entries, logical_spans(text), strict=True)
    return [span for entry, span in pairs if entry.key == key]


def _place(text: str, key: str) -> int | None:
    """Return the index of the line below the last key of the same scope; None: there is none."""
    arrow, dot, _ = key.partition(".")
    scope = arrow + dot if "->" in arrow else ""
    pairs = zip(parse_properties(text), logical_spans(text), strict=True)
    found = [span[1] for entry, span in pairs if scope and entry.key.startswith(scope)]
    return found[-1] if found else None


def _key(key: str) -> str:
    return "".join(f"\\{char}" if char in _SEPARATORS else char for char in key)
