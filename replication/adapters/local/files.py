"""Files of the state directory: no other user reads them, and each is whole or not there.

Standard library only.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from replication.errors import EnvironmentProblem

PRIVATE_UMASK = 0o077  # of our processes: also what Spark, Dagster and brokers write is private
_PRIVATE_DIRECTORY, _PRIVATE_FILE = 0o700, 0o600

_LOG_BYTES = 20 << 20
_PROBE_BYTES = 64 << 10  # more than Spark writes for an epoch
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def make_private(*directories: Path) -> tuple[str, ...]:
    """Create directories, the outermost first, that no other user can enter (mode 0700).

    One that is there is closed to others; a line is returned for each that was open. One that
    belongs to root stays as it is: it is where a container mounts a volume. Raises
    EnvironmentProblem for one of another user, who could replace what is in it; OSError.
    """
    return tuple(filter(None, map(_closed, directories)))


def open_private(file: Path, mode: str) -> IO[Any]:
    """Open a file as ``open`` does; one that is created is this user's alone. Raises OSError."""
    return open(file, mode, opener=_private)


def write_whole(file: Path, content: str | bytes) -> None:
    """Replace a file's content as a whole: half of it would say something else.

    Other processes of this user read it meanwhile. Raises OSError, and leaves the file as it was.
    """
    temporary = _new_file(file.parent, file.name)
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def replace_content(file: Path, before: bytes, after: bytes) -> None:
    """Replace the content of an operator's file as a whole; its mode and owner stay.

    A link stays a link: the file that it leads to is replaced. Raises EnvironmentProblem where the
    file is not ``before`` any more, OSError.
    """
    there = file.resolve()
    temporary = _new_file(there.parent, there.name)
    try:
        temporary.write_bytes(after)
        found = there.stat()
        temporary.chmod(stat.S_IMODE(found.st_mode))
        with suppress(PermissionError):  # only root gives a file away
            os.chown(temporary, found.st_uid, found.st_gid)
        if there.read_bytes() != before:
            raise EnvironmentProblem(f"{file} was edited meanwhile: nothing was changed; try again")
        temporary.replace(there)
    finally:
        temporary.unlink(missing_ok=True)


def shorten_log(log: Path) -> None:
    """Move a long log aside, to ``.log.1``. Who appends to it keeps doing so: it is empty now."""
    aside = log.with_suffix(".log.1")
    try:
        if log.stat().st_size > _LOG_BYTES:
            aside.touch(_PRIVATE_FILE)
            aside.write_bytes(log.read_bytes())
            os.truncate(log, 0)
    except OSError:
        with suppress(OSError):
            aside.unlink(missing_ok=True)  # half of it: a full disk needs the space more


def lacks_space(error: OSError) -> bool:
    """Return whether a disk has no space left, no inodes left, or a quota is used up."""
    return error.errno in _NO_SPACE


def space_problem(directory: Path) -> str:
    """Return in one line why a directory takes no further file; empty: it does.

    Only writing one shows it: bytes, inodes or a quota may be used up, or the disk read-only.
    """
    probe = None
    try:
        probe = _new_file(directory, "probe")
        probe.write_bytes(bytes(_PROBE_BYTES))
    except OSError as error:
        if lacks_space(error):
            return f"no space in {directory}: free some there, and copying continues by itself"
        return f"{directory} cannot be written: {error.strerror}"
    finally:
        if probe is not None:
            with suppress(OSError):
                probe.unlink(missing_ok=True)
    return ""


def _closed(directory: Path) -> str:
    """Create a directory, or close it to others; say in a line that it was open to them."""
    with suppress(FileExistsError):
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(_PRIVATE_DIRECTORY)
        return ""
    found, me = directory.stat(), os.geteuid()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory))
    if found.st_uid not in (me, 0):
        raise EnvironmentProblem(
            f"directory {directory} belongs to user {found.st_uid}, who could replace what is in "
            f"it: use another directory, or make user {me} its owner"
        )
    if found.st_uid != me or not found.st_mode & PRIVATE_UMASK:
        return ""
    directory.chmod(_PRIVATE_DIRECTORY)
    return (
        f"directory {directory} was open to other users (mode {stat.S_IMODE(found.st_mode):04o}); "
        f"now it is not (mode {_PRIVATE_DIRECTORY:04o})"
    )


def _new_file(directory: Path, name: str) -> Path:
    """Create an empty file of this user alone, whose name nobody can foresee. Raises OSError."""
    descriptor, path = tempfile.mkstemp(prefix=f".{name}.", suffix=".new", dir=directory)
    os.close(descriptor)
    return Path(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE_FILE)
