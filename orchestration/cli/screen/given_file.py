"""The properties file that a command was called with, put into the commands that it prints.

Every message that tells to run a command says ``FILE`` for its file, as the help does: most of them
are made where no path is known, in a driver or in Dagster. What a command prints for people has the
path instead, in a shell's quotes where it needs them, so that the command can be pasted. JSON and
YAML keep the text as it is.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path  # noqa: TC003 - Typer reads the annotations

import typer

# `isthmus offsets sync FILE`, `isthmus takeover --from-mm2 FILE`
COMMAND = re.compile(r"\bisthmus(?: (?:--)?[a-z][a-z0-9-]*)+ (FILE)\b")


class _Called:
    """The file of the command that this process carries out; None: it has no file."""

    file: Path | None = None


def keep_file(file: Path) -> Path:
    """Return ``file``, and remember it as the one of this command: a callback of its argument."""
    _Called.file = file
    return file


def with_file(text: str) -> str:
    """Return ``text`` with the file of this command, as a shell reads it, in its commands."""
    for span, path in reversed(file_places(text)):
        text = text[: span.start] + path + text[span.stop :]
    return text


def file_places(text: str) -> list[tuple[slice, str]]:
    """Return where the commands in ``text`` say ``FILE``, and what comes there, in order."""
    if _Called.file is None:
        return []
    path = in_shell(_Called.file)
    return [(slice(*found.span(1)), path) for found in COMMAND.finditer(text)]


def in_shell(path: Path) -> str:
    """Return ``path`` as a shell reads it, for a command about another file than the given one."""
    return shlex.quote(str(path))


def print_line(line: str, *, err: bool = False) -> None:
    """Print a line for people on stdout, or else on stderr."""
    typer.echo(with_file(line), err=err)
