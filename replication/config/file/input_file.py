"""Reads a file that somebody else wrote: of bounded size, and without waiting for ever.

A device has no end, and a pipe may have no writer.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 4 << 20  # bytes; ten thousand topic names take a tenth of it
_PIPE_S = 10.0
_PART = 1 << 16


def read_input(path: Path, most: int = LARGEST) -> bytes:
    """Return the content of a regular file, or what a pipe gives within 10 s.

    Raises OSError whose ``strerror`` says why: it is a directory or a device, has more than
    ``most`` bytes, or its writer does not end.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, f"the name is not valid: {error}") from None
    try:
        return _read(handle, os.fstat(handle).st_mode, most)
    finally:
        os.close(handle)


def _read(handle: int, mode: int, most: int) -> bytes:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise OSError(errno.EINVAL, "it is a device or a socket, not a file")
    content, deadline = bytearray(), time.monotonic() + _PIPE_S
    ready = select.poll()  # select() refuses numbers above 1023, which a long-lived process reaches
    ready.register(handle, select.POLLIN)
    while part := _next(handle, ready, deadline):
        content += part
        if len(content) > most:
            raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB")
    return bytes(content)


def _next(handle: int, ready: select.poll, deadline: float) -> bytes:
    """Return the next bytes; none at the end."""
    while time.monotonic() < deadline:
        try:
            return os.read(handle, _PART)
        except BlockingIOError:  # a pipe whose writer has written nothing yet
            ready.poll(max(0.0, deadline - time.monotonic()) * 1000)
    raise OSError(errno.ETIMEDOUT, f"its writer did not end within {_PIPE_S:.0f} s")
