"""How a command prints an error that it expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.errors import ReplicationError


def print_error(error: ReplicationError) -> None:
    """Print the message of ``error`` on stderr."""
    from rich.text import Text  # noqa: PLC0415 - 60 ms that only a failure should pay

    from orchestration.cli.screen.console import console  # noqa: PLC0415 - as above

    message = Text.assemble(("error: ", "bold red"), str(error))
    console(stderr=True).print(message)
