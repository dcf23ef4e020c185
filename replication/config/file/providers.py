"""Resolves placeholders such as ``${file:/run/secrets.properties:password}``.

They are resolved where a client is built, so that no secret travels in a plan, a page or a log:
``isthmus`` passes the placeholders on, together with the ``config.providers`` keys.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from replication.config.file.properties import MalformedEscape, decode, parse_properties
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX = "config.providers"
# A variable that was renamed because its name would set another program still has its value here.
SET_ASIDE = "ISTHMUS_SET_ASIDE_"
_PLACEHOLDER = re.compile(r"\$\{([^}:]*):(?:([^}]*):)?([^}:]*)\}")
_CLASSES = {
    "org.apache.kafka.common.config.provider.FileConfigProvider": "file",
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider": "env",
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider": "directory",
}
_PACKAGE = "org.apache.kafka.common.config.provider."


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

    def replacement(match: re.Match[str]) -> str:
        provider = providers.get(match[1])
        if provider is None:
            return match[0]
        path = match[2] or ""
        found = _READ[provider.kind](provider, path, match[3])
        if found is None:
            raise UnresolvedPlaceholder(f"{match[0]}: {_why(provider, path, match[3])}")
        return found

    return _PLACEHOLDER.sub(replacement, text)


def anchored(text: str, providers: Mapping[str, Provider], base: Path) -> str:
    """Return ``text`` with relative paths in placeholders made absolute.

    Spark's workers resolve them too, and they may run in another directory.
    """

    def replacement(match: re.Match[str]) -> str:
        provider = providers.get(match[1])
        if provider is None or provider.kind == "env" or not match[2]:
            return match[0]
        return f"${{{match[1]}:{base / match[2]}:{match[3]}}}"

    return _PLACEHOLDER.sub(replacement, text)


def has_placeholder(text: str, providers: Mapping[str, Provider]) -> bool:
    """Say whether ``text`` holds a placeholder of a configured provider."""
    return any(match[1] in providers for match in _PLACEHOLDER.finditer(text))


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
    roots = [Path(each.strip()).resolve() for each in allowed.split(",") if each.strip()]
    return not roots or any(path.resolve().is_relative_to(root) for root in roots)


def _from_file(provider: Provider, path: str, key: str) -> str | None:
    file = Path(path)
    if not _allowed(provider, file):
        return None
    try:
        entries = parse_properties(decode(file.read_bytes()))
    except (OSError, MalformedEscape):
        return None
    return {entry.key: entry.value for entry in entries}.get(key)


def _from_env(provider: Provider, _path: str, key: str) -> str | None:
    pattern = provider.params.get("allowlist.pattern")
    if pattern is not None and not re.fullmatch(pattern, key):
        return None
    return os.environ.get(SET_ASIDE + key, os.environ.get(key))


def _from_directory(provider: Provider, path: str, key: str) -> str | None:
    file = Path(path) / key
    if "/" in key or not _allowed(provider, file):
        return None
    try:
        return decode(file.read_bytes())
    except OSError:
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
    if not Path(path).is_file():
        return f"no readable file {path}"
    return f"{path} has no key {key}, or allowed.paths forbids it"
