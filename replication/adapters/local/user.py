"""The user that this process runs as: its id may have no name, and no home that is writable."""

from __future__ import annotations

import getpass
import os
import pwd
from pathlib import Path


def user_name() -> str:
    """Return the user's name; its id if it has none, as a container's arbitrary user id."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError: what Python 3.13 and later raise
        return str(os.getuid())


def has_name() -> bool:
    """Return whether the system knows a name of the user id; Java asks nothing else."""
    try:
        return bool(pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:
        return False


def has_home() -> bool:
    """Return whether the system knows a home of the user id that can be written to."""
    try:
        return is_writable(Path(pwd.getpwuid(os.getuid()).pw_dir))
    except KeyError:
        return False


def is_writable(directory: Path) -> bool:
    """Return whether files can be made in a directory, or in one that would be made for it."""
    for each in (directory, *directory.parents):
        if os.access(each, os.F_OK):
            return each.is_dir() and os.access(each, os.W_OK | os.X_OK)
    return False
