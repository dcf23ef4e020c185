r"""Java's replacement text, with the variables that Isthmus adds: parsed, then filled in. Pure.

``$1`` and ``$12`` are groups of the pattern, as many digits as there is such a group for, as Java
reads them; ``${name}`` is a group of that name, ``$0`` the whole match. A backslash takes the next
character as it is. Beyond Java, ``${source}`` and ``${target}`` are the flow's clusters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from replication.settings.naming_settings import RenameRule

VARIABLES = ("source", "target")


class BadReplacement(ValueError):
    """A replacement that Java would reject, or that names an unknown group or variable."""


@dataclass(frozen=True, slots=True)
class _Text:
    text: str


@dataclass(frozen=True, slots=True)
class _Group:
    group: int | str


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str


_Part = _Text | _Group | _Variable


@dataclass(frozen=True, slots=True)
class Template:
    """A replacement that was read."""

    parts: tuple[_Part, ...]

    def fill(self, match: re.Match[str], variables: Mapping[str, str]) -> str:
        """Return the text for one match; a group that took no part is empty."""
        return "".join(_filled(part, match, variables) for part in self.parts)

    def beginning(self, variables: Mapping[str, str]) -> str:
        """Return what the text begins with for every match."""
        found = []
        for part in self.parts:
            if isinstance(part, _Group):
                break
            found.append(part.text if isinstance(part, _Text) else variables[part.name])
        return "".join(found)

    def could_make(self, text: str) -> bool:
        """Say whether ``text`` may come of it; what is filled in may be anything."""
        patterns = (
            re.escape(each.text) if isinstance(each, _Text) else ".*" for each in self.parts
        )
        return re.fullmatch("".join(patterns), text) is not None


def read_replacement(text: str, pattern: re.Pattern[str]) -> Template:
    """Return the template that ``text`` is, for matches of ``pattern``. Raises BadReplacement."""
    if both := sorted(set(VARIABLES) & pattern.groupindex.keys()):
        raise BadReplacement(
            f"the pattern's group {both[0]} has the name of a cluster of the flow: rename the group"
        )
    return Template(tuple(_parts(text, pattern)))


def template_of(rule: RenameRule) -> Template:
    """Return the template of a rule that was checked when its file was read."""
    return read_replacement(rule.replacement, re.compile(rule.pattern, re.ASCII))


def _filled(part: _Part, match: re.Match[str], variables: Mapping[str, str]) -> str:
    match part:
        case _Text(text):
            return text
        case _Variable(name):
            return variables[name]
        case _Group(group):
            return match[group] or ""


def _parts(text: str, pattern: re.Pattern[str]) -> Iterator[_Part]:
    at = 0
    while at < len(text):
        rest = text[at:]
        if rest[0] == "\\":
            if len(rest) == 1:
                raise BadReplacement("ends in a single backslash")
            yield _Text(rest[1])
            at += 2
        elif rest[0] == "$":
            part, length = _reference(rest, pattern)
            yield part
            at += length
        else:
            plain = re.match(r"[^$\\]+", rest)
            length = plain.end() if plain else 1
            yield _Text(rest[:length])
            at += length


def _reference(rest: str, pattern: re.Pattern[str]) -> tuple[_Part, int]:
    if named := re.match(r"\$\{([^}]*)\}", rest):
        return _named(named[1], pattern.groupindex.keys()), named.end()
    digits = re.match(r"\$(\d+)", rest, re.ASCII)
    if digits is None:
        raise BadReplacement(r"has a $ without a reference: write \$ for the character")
    length = 1  # Java reads one digit whatever it is, and more while there is such a group
    while length < len(digits[1]) and int(digits[1][: length + 1]) <= pattern.groups:
        length += 1
    number = int(digits[1][:length])
    if number > pattern.groups:
        raise BadReplacement(
            f"${number} names a group that topics.rename.regex does not have: it has "
            f"{pattern.groups}"
        )
    return _Group(number), length + 1


def _named(name: str, groups: Collection[str]) -> _Part:
    if name in VARIABLES:
        return _Variable(name)
    if name in groups:
        return _Group(name)
    raise BadReplacement(f"${{{name}}} is not known: ${{source}}, ${{target}}, ${{clusters.X}}, $1")
