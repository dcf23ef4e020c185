r"""Translates Java regular expressions to Python, or gives the reason why Python has none.

Topic and group patterns are matched whole, and a list of them is one alternation: a flag such as
``(?i)`` in one item holds for the items after it too, because Java sees them joined with ``|``.

Some patterns, such as ``(a|a)*b``, take longer than the universe on a name of 249 characters.
Those that might are matched by the library regex, which stops in time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r"\s",
}
_FLAGS = frozenset("imsx")
_REPEAT = re.compile(r"(?<!\()[*+?{]")
_MATCH_S = 1.0


class Untranslatable(ValueError):
    """A pattern that Java accepts and Python cannot express, or that is wrong in both."""


class Compiled(Protocol):
    """A pattern that is matched whole."""

    def fullmatch(self, name: str, /) -> re.Match[str] | None:
        """Return the match of the whole of ``name``. Raises ConfigError if it takes 1 s."""


@dataclass(frozen=True, slots=True)
class JavaPattern:
    """One pattern of a list: as written, and compiled."""

    text: str
    pattern: Compiled

    def matches(self, name: str) -> bool:
        """Say whether the whole of ``name`` matches."""
        return self.pattern.fullmatch(name) is not None


def compile_rules(items: Iterable[str]) -> tuple[JavaPattern, ...]:
    """Return a rule for each item. Raises Untranslatable, naming the item.

    Items that are no patterns by themselves, such as ``(a`` and ``b)``, are joined first: the
    comma between them separates, and Java puts ``|`` there.
    """
    written = tuple(items)
    try:
        return _each(written)
    except Untranslatable:
        joined = "|".join(written)
        try:
            return (JavaPattern(joined, compiled(joined, _Translator(joined).run().python)),)
        except Untranslatable:
            pass
        raise


def _each(items: Iterable[str]) -> tuple[JavaPattern, ...]:
    rules: list[JavaPattern] = []
    flags = ""
    for text in items:
        translated = _Translator(text).run()
        python = f"(?{flags}:{translated.python})" if flags else translated.python
        rules.append(JavaPattern(text, compiled(text, python)))
        flags = "".join(sorted(set(flags) | set(translated.flags)))
    return tuple(rules)


def to_python(text: str) -> str:
    """Return one Java pattern in Python's syntax. Raises Untranslatable."""
    python = _Translator(text).run().python
    compiled(text, python)
    return python


def compiled(text: str, python: str) -> Compiled:
    """Return ``python``, the translation of ``text``, compiled. Raises Untranslatable."""
    try:
        pattern = re.compile(python, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        reason = getattr(error, "msg", str(error))
        raise Untranslatable(f"'{text}' is not a supported pattern: {reason}") from None
    repeats = [each.start() for each in _REPEAT.finditer(python)]
    if len(repeats) < 2 and not any(python[at - 1] == ")" for at in repeats):
        return pattern  # one repeat of one character takes no more than the square of the length
    return _InTime(text, python)


class _InTime:
    """A pattern that might take long."""

    def __init__(self, text: str, python: str) -> None:
        import regex  # noqa: PLC0415 - 20 ms that only such patterns should pay

        self._text = text
        self._pattern = regex.compile(python, regex.ASCII)

    def fullmatch(self, name: str, /) -> re.Match[str] | None:
        try:
            found = self._pattern.fullmatch(name, timeout=_MATCH_S)
        except TimeoutError:
            raise ConfigError(
                f"the pattern '{self._text}' takes more than {_MATCH_S:.0f} s for '{name}': write "
                "it without a repeat in a repeat"
            ) from None
        return cast("re.Match[str] | None", found)  # it has the same methods


@dataclass(frozen=True, slots=True)
class _Translated:
    python: str
    flags: str  # those still in force at the end


class _Translator:
    """One pass over a pattern. Flags set in the middle become a group up to the next ``)``."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._out: list[str] = []
        self._opened: list[list[str]] = [[]]  # flags set in the middle, a level of parentheses each
        self._flags = ""

    def run(self) -> _Translated:
        while self._at < len(self._text):
            self._step()
        closing = ")" * len(self._opened[-1])
        return _Translated("".join(self._out) + closing, self._flags)

    def _step(self) -> None:
        char = self._text[self._at]
        match char:
            case "\\":
                self._escape()
            case "[":
                self._at += 1
                self._char_class()
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                pending = self._opened[-1]
                self._emit(")" * len(pending) + "|" + "".join(pending), 1)
            case "{":
                self._count()
            case _:
                self._emit(char, 1)

    def _count(self) -> None:
        count = re.match(r"\{\d+(,\d*)?\}", self._text[self._at :])
        if count is None:  # a literal brace for Python, an error for Java
            raise self._refused("a { begins no count such as {2} or {2,3}")
        self._emit(count[0], count.end())

    def _emit(self, python: str, consumed: int) -> None:
        self._out.append(python)
        self._at += consumed

    def _open(self) -> None:
        rest = self._text[self._at :]
        if flags := re.match(r"\(\?([a-zA-Z]*)(-[a-zA-Z]+)?\)", rest):
            self._set_flags(flags)
            return
        self._opened.append([])
        if named := re.match(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>", rest):
            self._emit(f"(?P<{named[1]}>", named.end())
        elif scoped := re.match(r"\(\?[a-zA-Z]*(-[a-zA-Z]+)?:", rest):
            self._known_flags(scoped[0][2:-1].replace("-", ""))
            self._emit(scoped[0], scoped.end())
        else:
            self._emit("(", 1)

    def _set_flags(self, match: re.Match[str]) -> None:
        if match[2]:
            raise self._refused(f"{match[0]} switches a flag off inside the pattern")
        self._known_flags(match[1])
        if len(self._opened) == 1:
            self._flags += match[1]
        group = f"(?{match[1]}:" if match[1] else ""
        self._opened[-1] += [group] if group else []
        self._emit(group, match.end())

    def _known_flags(self, flags: str) -> None:
        if unknown := set(flags) - _FLAGS:
            raise self._refused(f"the flag {min(unknown)} has no equivalent in Python")

    def _close(self) -> None:
        pending = self._opened.pop() if len(self._opened) > 1 else []
        self._emit(")" * (len(pending) + 1), 1)

    def _escape(self) -> None:
        rest = self._text[self._at :]
        if rest.startswith(r"\Q"):
            quoted, _, _ = rest[2:].partition(r"\E")
            end = len(quoted) + (4 if rest[2 + len(quoted) :].startswith(r"\E") else 2)
            self._emit(re.escape(quoted), end)
        elif named := re.match(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>", rest):
            self._emit(f"(?P={named[1]})", named.end())
        elif shorthand := re.match(r"\\([pP])(?:\{(\w+)\}|(\w))", rest):
            inner = self._posix(shorthand)
            self._emit(f"[{'^' if shorthand[1] == 'P' else ''}{inner}]", shorthand.end())
        else:
            self._plain_escape(rest)

    def _plain_escape(self, rest: str) -> None:
        simple = {"z": r"\Z", "h": r"[ \t\xa0]", "e": r"\x1b"}
        char = rest[1:2]
        if char in simple:
            self._emit(simple[char], 2)
        elif char == "0" or (char.isalpha() and char not in "bBdDsSwWAZtnrfaxu"):
            raise self._refused(rf"\{char} has no equivalent in Python")
        elif char == "":
            raise self._refused("it ends in a single backslash")
        elif char == "Z":
            self._emit(r"(?=\n?\Z)", 2)
        else:
            self._emit(rest[:2], 2)

    def _char_class(self) -> None:
        self._out.append("[")
        if self._text[self._at : self._at + 1] == "^":
            self._emit("^", 1)
        start = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "]" and self._at > start:
                self._emit("]", 1)
                return
            self._class_member(char)
        raise self._refused("a [ is not closed")

    def _class_member(self, char: str) -> None:
        rest = self._text[self._at :]
        if char == "[" or rest.startswith("&&"):
            raise self._refused(
                f"{rest[: 2 if char == '&' else 1]} inside [ ] means a set of "
                "sets in Java; write it out"
            )
        if shorthand := re.match(r"\\([pP])(?:\{(\w+)\}|(\w))", rest):
            if shorthand[1] == "P":
                raise self._refused(rf"{shorthand[0]} inside [ ]")
            self._emit(self._posix(shorthand), shorthand.end())
        elif char == "\\":
            self._plain_escape(rest)
        elif rest[:2] in ("--", "||", "~~"):
            self._emit("\\" + char, 1)  # Python reserves these
        else:
            self._emit(char, 1)

    def _posix(self, match: re.Match[str]) -> str:
        name = match[2] or match[3]
        if name not in _POSIX:
            raise self._refused(f"{match[0]} is not supported; list the characters")
        return _POSIX[name]

    def _refused(self, why: str) -> Untranslatable:
        return Untranslatable(f"'{self._text}': {why}")
