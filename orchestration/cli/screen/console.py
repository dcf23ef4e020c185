"""Creates the console that commands print to.

Without a terminal (a pipe, a file, CI) no line is wrapped or cut.
"""

from __future__ import annotations

from rich.console import Console

_UNLIMITED = 10_000  # columns


def console(*, stderr: bool = False) -> Console:
    """Return the console of a command; a terminal wraps at its width, nothing else wraps."""
    found = Console(stderr=stderr, highlight=False, soft_wrap=True)
    if not found.is_terminal:
        found.width = _UNLIMITED
    return found
