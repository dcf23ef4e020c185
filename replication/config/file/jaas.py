"""Parses a ``sasl.jaas.config`` line: the login module and its options.

Java's own tokenizer decides: an option's value is in double quotes, in which a backslash
escapes the next character, or is a bare word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([=;])|([^\s=;"']+))""", re.DOTALL
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_FLAGS = ("required", "requisite", "sufficient", "optional")
_FORM = 'write: <login module> required username="…" password="…";'


@dataclass(frozen=True, slots=True)
class Jaas:
    """A login module's simple class name and its options. The options may be secret."""

    module: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas(text: str) -> Jaas:
    """Return the first entry of a JAAS line. Raises ConfigError, which shows no value."""
    tokens = _tokens(text)
    if len(tokens) < 2 or tokens[1][1].lower() not in _FLAGS:
        raise ConfigError(f"sasl.jaas.config has no login module and control flag: {_FORM}")
    if tokens[-1] != (True, ";"):
        raise ConfigError("sasl.jaas.config does not end in a semicolon")
    return Jaas(tokens[0][1].rpartition(".")[2], _options(tokens[2:-1]))


def _options(tokens: list[tuple[bool, str]]) -> dict[str, str]:
    options: dict[str, str] = {}
    for index in range(0, len(tokens), 3):
        match tokens[index : index + 3]:
            case [(False, name), (True, "="), (False, value)]:
                options[name] = value
            case [(False, name), *_]:
                raise ConfigError(
                    f"sasl.jaas.config: option {_safe(name)} is not followed by =value; a quote or "
                    f'backslash inside a value must be written \\" or \\\\'
                )
            case _:
                raise ConfigError(f"sasl.jaas.config cannot be read: {_FORM}")
    return options


def _safe(name: str) -> str:
    """Show a name only if it can be an option's: a broken line may show part of a password."""
    return name if name in ("username", "password") or name.startswith("oauth.") else "(not shown)"


def _tokens(text: str) -> list[tuple[bool, str]]:
    """Return (is punctuation, text) a token."""
    tokens: list[tuple[bool, str]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ConfigError("sasl.jaas.config has a quote that is not closed")
        quoted = match[1] if match[1] is not None else match[2]
        if quoted is not None:
            tokens.append((False, _unescaped(quoted)))
        else:
            tokens.append((match[3] is not None, match[3] or match[4]))
        position = match.end()
    return tokens


def _unescaped(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 8))
        return _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:([0-3]?[0-7]{1,2})|(.))", char, text, flags=re.DOTALL)
