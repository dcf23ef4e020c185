"""Files that are whole or not there, and whether a directory has space for one.

Standard library only.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PROBE_BYTES = 64 << 10  # more than Spark writes for an epoch
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def write_whole(file: Path, text: str) -> None:
    """Replace a file's content as a whole: half of it would say something else.

    Other processes read it meanwhile. Raises OSError, and leaves the file as it was.
    """
    temporary = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        temporary.write_text(text)
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def lacks_space(error: OSError) -> bool:
    """Return whether a disk has no space left, no inodes left, or a quota is used up."""
    return error.errno in _NO_SPACE


def space_problem(directory: Path) -> str:
    """Return in one line why a directory takes no further file; empty: it does.

    Only writing one shows it: bytes, inodes or a quota may be used up, or the disk read-only.
    """
    probe = directory / f"probe.{os.getpid()}.new"
    try:
        probe.write_bytes(bytes(_PROBE_BYTES))
    except OSError as error:
        if lacks_space(error):
            return f"no space in {directory}: free some there, and copying continues by itself"
        return f"{directory} cannot be written: {error.strerror}"
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    return ""
