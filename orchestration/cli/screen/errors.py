"""How a command ends: with its reason as the last line where its exit code is not 0."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import typer

from orchestration.cli.screen.given_file import print_line

if TYPE_CHECKING:
    from replication.errors import ReplicationError


def print_error(error: ReplicationError | str) -> None:
    """Print an expected error on stderr."""
    from rich.text import Text  # noqa: PLC0415 - 60 ms that only a failure should pay

    from orchestration.cli.screen.console import console  # noqa: PLC0415 - as above

    sys.stdout.flush()  # it comes after what was printed before, also where both go to one file
    message = Text.assemble(("error: ", "bold red"), str(error))
    console(stderr=True).print(message)


def end(code: int, reason: str, *, is_output: bool = False) -> NoReturn:
    """End the command. ``reason`` is its last line, unless ``code`` is 0.

    ``is_output``: the line is the end of what the command prints, so it goes to stdout, also for
    code 0. Otherwise, such as after JSON, it goes to stderr.
    """
    if is_output:
        print_line(reason)
    elif code:
        sys.stdout.flush()
        print_line(reason, err=True)
    raise typer.Exit(code)
