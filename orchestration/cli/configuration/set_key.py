"""``isthmus set``: sets one key of a file, or removes it, unless ``check`` would refuse that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.alerts.channel_findings import channel_findings
from orchestration.cli.configuration.set_refusal import refusal
from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from replication.adapters.local.files import replace_content
from replication.config.changes import changes
from replication.config.file.edit import with_value, without
from replication.config.file.findings import errors
from replication.config.file.input_file import read_input
from replication.config.file.properties import MalformedText, decode, parse_properties
from replication.config.keys.connection_keys import is_secret
from replication.config.load import Loaded, examine
from replication.errors import ConfigError, EnvironmentProblem

if TYPE_CHECKING:
    from pathlib import Path

_STDIN = "-"


def set_key(
    file: File,
    key: Annotated[str, typer.Argument(help="Key, such as lag.sla.seconds or 'A->B.topics'.")],
    value: Annotated[
        str | None,
        typer.Argument(help="Value, without escapes; `-` reads it from standard input."),
    ] = None,
    *,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the key, so that its default is used.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
) -> None:
    """Set one key of FILE, or remove it; comments and other lines stay as they are.

    A change that `isthmus check` rejects is rejected; a wrong URL of alerts prevents no change of
    another key. Running drivers and Dagster apply a change within seconds; a driver restarts
    automatically where it must. Exit code 0: the file has the key now; 2: the change was rejected,
    and the file is as it was.
    """
    if (value is None) is not remove:
        raise ConfigError("give a value, or --remove to use the default")
    before = _content(file)
    after = _edited(before, key, _read(key, value))
    loaded = _accepted(file, before, after, key)
    console().print(_shown(file, before, loaded), markup=False, highlight=False)
    if dry_run or after == before:
        end(0, f"{file} was not changed" + (": --dry-run" if dry_run else ""), is_output=True)
    try:
        replace_content(file, before, after)
    except OSError as error:
        raise EnvironmentProblem(f"writing {file}: {error.strerror}") from None
    end(
        0,
        f"{file} was changed; running drivers and Dagster apply it within seconds",
        is_output=True,
    )


def _content(file: Path) -> bytes:
    try:
        return read_input(file)
    except OSError as error:
        raise ConfigError(f"reading {file}: {error.strerror}") from None


def _read(key: str, value: str | None) -> str | None:
    """Return the value. One that is a secret must not be an argument, which other users see."""
    if value == _STDIN:
        return sys.stdin.readline().rstrip("\r\n")
    if value is not None and is_secret(key) and not value.startswith("${"):
        raise ConfigError(
            f"{key}: other users see the arguments of a command: give - and the value on standard "
            "input, or a placeholder such as ${file:/run/secrets.properties:password}"
        )
    return value


def _edited(content: bytes, key: str, value: str | None) -> bytes:
    """Return the content with the value, in the file's encoding; None removes the key."""
    try:
        text = decode(content)
        edited = without(text, key) if value is None else with_value(text, key, value)
    except MalformedText as error:
        raise ConfigError(f"line {error.line}: {error}: {error.fix}") from None
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        encoded = edited.encode("iso-8859-1", "backslashreplace")
    else:
        mark = b"\xef\xbb\xbf" if content.startswith(b"\xef\xbb\xbf") else b""
        encoded = mark + edited.encode()
    written = {each.key: each.value for each in parse_properties(decode(encoded))}
    if written.get(key) != value:
        raise ConfigError(
            f"{key}: the file's encoding cannot represent this value: save it as UTF-8"
        )
    return encoded


def _accepted(file: Path, before: bytes, after: bytes, key: str) -> Loaded:
    """Return what the edited file means. Raises ConfigError: `isthmus check` would refuse it."""
    loaded, findings = examine(file, content=after)
    if loaded is None and not errors(findings):
        raise ConfigError(f"{file}: nothing to copy; nothing was changed")
    found = errors(findings)
    if loaded is not None and not found:
        found = tuple(each for each in channel_findings(loaded) if each.key == key)
    if found or loaded is None:
        raise ConfigError(refusal(file, before, key, found))
    return loaded


def _shown(file: Path, before: bytes, after: Loaded) -> str:
    """Return what would change, a line each; of a broken file only that it is whole now."""
    loaded, findings = examine(file, content=before)
    if loaded is None or errors(findings):
        return "the file had errors, and has none now"
    return "\n".join(changes(loaded, after)) or "no setting changes"
