"""Ends a command quietly when its output is closed: ``| head``, a closed terminal.

SIGPIPE's default would end it too, but without the clean-up of ``isthmus run``, and on any socket
whose peer has closed.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys

_UNREAD = (errno.EPIPE, errno.EIO)  # of a pipe, and of a terminal
PIPE_CLOSED = 128 + signal.SIGPIPE  # what a shell reports of a command that SIGPIPE ended


class PipeOutput(io.TextIOWrapper):
    """An output stream that ends the command with PIPE_CLOSED when nobody reads it."""

    ends_command = True  # else unread output is dropped

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        if error.errno not in _UNREAD:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())  # buffered output goes there, also at exit
        os.close(nowhere)
        if self.ends_command:
            raise SystemExit(PIPE_CLOSED) from None


def drop_unread() -> None:
    """Drop unread output instead of ending the command: for steps that must not end half-way."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, PipeOutput):
            stream.ends_command = False


def guard_pipes() -> None:
    """Make stdout and stderr end the command quietly when their reader has left."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: object) -> PipeOutput:
    assert isinstance(stream, io.TextIOWrapper)  # noqa: S101 - for the type checker
    return PipeOutput(
        stream.buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
