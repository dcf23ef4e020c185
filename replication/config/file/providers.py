"""Resolves placeholders such as ``${file:/run/secrets.properties:password}``.

They are resolved where a client is built, so that no secret travels in a plan, a page or a log:
``isthmus`` passes the placeholders on, together with the ``config.providers`` keys.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from replication.config.file.input_file import read_input
from replication.config.file.properties import MalformedText, decode, parse_properties
from replication.errors import ConfigError
from replication.naming.java_regex import Untranslatable, compile_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PREFIX = "config.providers"
# A variable that was renamed because its name would set another program still has its value here.
SET_ASIDE = "ISTHMUS_SET_ASIDE_"
_CLASSES = {
    "org.apache.kafka.common.config.provider.FileConfigProvider": "file",
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider": "env",
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider": "directory",
}
_PACKAGE = "org.apache.kafka.common.config.provider."


class _Placeholder(NamedTuple):
    """``${provider:path:key}``, or ``${provider:key}``."""

    text: str
    provider: str
    path: str
    key: str


class UnresolvedPlaceholder(ConfigError):
    """A placeholder leads nowhere. The message names it, never what it would have stood for."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One configured provider: how it reads, and its parameters."""

    kind: str  # file, env or directory
    params: Mapping[str, str]


def providers_in(props: Mapping[str, str]) -> Mapping[str, Provider]:
    """Return the providers that ``config.providers`` names. Raises ConfigError."""
    names = [each.strip() for each in props.get(PREFIX, "").split(",") if each.strip()]
    return {name: _provider(name, props) for name in names}


def resolve_all(props: Mapping[str, str]) -> dict[str, str]:
    """Return ``props`` with every placeholder resolved and without the provider keys.

    Raises UnresolvedPlaceholder. A placeholder of an unknown provider stays as it is.
    """
    providers = providers_in(props)
    return {
        key: resolve(value, providers) for key, value in props.items() if not key.startswith(PREFIX)
    }


def resolve(text: str, providers: Mapping[str, Provider]) -> str:
    """Return ``text`` with its placeholders resolved. Raises UnresolvedPlaceholder."""

    def replacement(placeholder: _Placeholder) -> str:
        provider = providers.get(placeholder.provider)
        if provider is None:
            return placeholder.text
        path, key = placeholder.path, placeholder.key
        found = _READ[provider.kind](provider, path, key)
        if found is None:
            raise UnresolvedPlaceholder(f"{placeholder.text}: {_why(provider, path, key)}")
        return found

    return _replaced(text, replacement)


def anchored(text: str, providers: Mapping[str, Provider], base: Path) -> str:
    """Return ``text`` with relative paths in placeholders made absolute.

    Spark's workers resolve them too, and they may run in another directory.
    """

    def replacement(each: _Placeholder) -> str:
        provider = providers.get(each.provider)
        if provider is None or provider.kind == "env" or not each.path:
            return each.text
        return f"${{{each.provider}:{base / each.path}:{each.key}}}"

    return _replaced(text, replacement)


def has_placeholder(text: str, providers: Mapping[str, Provider]) -> bool:
    """Say whether ``text`` holds a placeholder of a configured provider."""
    return any(
        isinstance(part, _Placeholder) and part.provider in providers for part in _parts(text)
    )


def _replaced(text: str, replacement: Callable[[_Placeholder], str]) -> str:
    parts = _parts(text)
    return "".join(replacement(each) if isinstance(each, _Placeholder) else each for each in parts)


def _parts(text: str) -> Iterator[str | _Placeholder]:
    """Yield plain text and placeholders, which begin with the first ``${`` before their ``}``.

    In one pass, however many beginnings there are without an end.
    """
    at = 0
    while (begin := text.find("${", at)) >= 0 and (end := text.find("}", begin)) >= 0:
        provider, colon, rest = text[begin + 2 : end].partition(":")
        path, _, key = rest.rpartition(":")
        yield text[at:begin]
        whole = text[begin : end + 1]
        yield _Placeholder(whole, provider, path, key) if colon else whole
        at = end + 1
    yield text[at:]


def _provider(name: str, props: Mapping[str, str]) -> Provider:
    declared = props.get(f"{PREFIX}.{name}.class")
    if declared is None:
        raise ConfigError(
            f"{PREFIX}.{name}.class is not set: write e.g. {_PACKAGE}FileConfigProvider"
        )
    kind = _CLASSES.get(declared.strip())
    if kind is None:
        known = ", ".join(_CLASSES)
        raise ConfigError(f"{PREFIX}.{name}.class: {declared} is not supported; known: {known}")
    start = f"{PREFIX}.{name}.param."
    params = {key[len(start) :]: value for key, value in props.items() if key.startswith(start)}
    return Provider(kind, params)


def _allowed(provider: Provider, path: Path) -> bool:
    """``allowed.paths`` limits what a placeholder may read."""
    allowed = provider.params.get("allowed.paths", "")
    roots = [Path(each.strip()) for each in allowed.split(",") if each.strip()]
    if "\0" in f"{path}{allowed}":  # no path has it
        return False
    return not roots or any(path.resolve().is_relative_to(root.resolve()) for root in roots)


def _from_file(provider: Provider, path: str, key: str) -> str | None:
    file = Path(path)
    if not _allowed(provider, file):
        return None
    try:
        entries = parse_properties(decode(read_input(file)))
    except (OSError, MalformedText):
        return None
    return {entry.key: entry.value for entry in entries}.get(key)


def _from_env(provider: Provider, _path: str, key: str) -> str | None:
    pattern = provider.params.get("allowlist.pattern")
    if "\0" in key or (pattern is not None and not _allows(pattern, key)):
        return None
    return os.environ.get(SET_ASIDE + key, os.environ.get(key))


def _allows(pattern: str, key: str) -> bool:
    try:
        return compile_rules((pattern,))[0].matches(key)
    except Untranslatable as error:
        raise ConfigError(f"{PREFIX}: allowlist.pattern: {error}") from None


def _from_directory(provider: Provider, path: str, key: str) -> str | None:
    file = Path(path) / key
    if "/" in key or not _allowed(provider, file):
        return None
    try:
        return decode(read_input(file))
    except (OSError, MalformedText):
        return None


_READ: Mapping[str, Callable[[Provider, str, str], str | None]] = {
    "file": _from_file,
    "env": _from_env,
    "directory": _from_directory,
}


def _why(provider: Provider, path: str, key: str) -> str:
    if provider.kind == "env":
        return f"the environment has no variable {key}, or allowlist.pattern forbids it"
    if provider.kind == "directory":
        return f"no readable file {key} in {path}"
    try:
        read_input(Path(path))
    except OSError as error:
        return f"no readable file {path} ({error.strerror})"
    return f"{path} has no key {key}, or allowed.paths forbids it"
