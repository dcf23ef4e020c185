"""Sockets by which Spark tasks of one machine reach the process that already copies a unit.

Spark gives a unit's next epoch to any of its Python workers. The one that copies the unit listens
on a Unix socket whose name follows from the unit alone; the others have it continue with the next
epoch and wait for its report. The socket is an abstract one: it ends with its process, whatever
ends that, and no two processes have the same. Only processes of the same user are listened to.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
import struct
from typing import TYPE_CHECKING

from replication.adapters.unit_json import report_of, report_text, spec_of, spec_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from replication.copier.spec import UnitReport, UnitSpec

    Attend = Callable[[UnitSpec, int], Awaitable[UnitReport | None]]

_HELLO = b"h"
_HELLO_S = 1.0  # a process that is frozen does not say it
_END_S = 20.0  # after the epoch: for a clean end, which waits for the last answers
_HEAD = struct.Struct("!IQ")  # units that the requester copies, length of the spec in bytes
_MOST_BYTES = 256 << 20  # of a spec: a million partitions have less
_PEER = struct.Struct("3i")  # process, user, group


class UnixUnitSockets:
    """Implements ``copier.host.UnitSockets`` for the processes of one machine (Linux)."""

    async def open(self, spec: UnitSpec, attend: Attend) -> Callable[[], None] | None:
        async def on_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # ValueError: what was sent is no spec
            with contextlib.closing(writer), contextlib.suppress(OSError, EOFError, ValueError):
                if _user_behind(writer.get_extra_info("socket")) == os.getuid():
                    await _answer(reader, writer, attend)

        try:
            server = await asyncio.start_unix_server(on_request, _name(spec))
        except OSError:  # another process has it
            return None
        return server.close

    def request_epoch(self, spec: UnitSpec, here: int) -> UnitReport | None:
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(_HELLO_S)
                line.connect(_name(spec))
                if _user_behind(line) != os.getuid():
                    return None
                line.sendall(_packed(spec, here))
                if line.recv(1) != _HELLO:
                    return None
                line.settimeout(spec.epoch_s + _END_S)
                return _report_in(_all_of(line))
        except OSError:  # nobody is there, or it has died
            return None


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, attend: Attend
) -> None:
    """Copy the requested epoch and report, unless the requester disconnects meanwhile."""
    there, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if length > _MOST_BYTES:
        return
    spec = spec_of(await reader.readexactly(length))
    writer.write(_HELLO)
    await writer.drain()
    copying = asyncio.ensure_future(attend(spec, there))
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({copying, gone}, return_when=asyncio.FIRST_COMPLETED)
        report = copying.result() if copying.done() else None
        if report is not None:
            writer.write(report_text(report).encode())
            await writer.drain()
    finally:
        copying.cancel()
        gone.cancel()
        await asyncio.gather(copying, gone, return_exceptions=True)


def _name(spec: UnitSpec) -> str:
    """Return the socket's name: a generation has one driver, whose units have one owner each."""
    unit = (spec.target["bootstrap.servers"], spec.flow, spec.generation, spec.unit, os.getuid())
    return "\0isthmus-" + hashlib.blake2b(repr(unit).encode(), digest_size=16).hexdigest()


def _user_behind(line: socket.socket) -> int:
    peer = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return int(_PEER.unpack(peer)[1])


def _packed(spec: UnitSpec, here: int) -> bytes:
    data = spec_text(spec).encode()
    return _HEAD.pack(here, len(data)) + data


def _all_of(line: socket.socket) -> bytes:
    parts = []
    while part := line.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def _report_in(data: bytes) -> UnitReport | None:
    """Return the report; None: the unit was left to us, or the process that copied it died."""
    try:
        return report_of(data)
    except ValueError:
        return None
