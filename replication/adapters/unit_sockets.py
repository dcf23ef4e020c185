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
import pickle
import socket
import struct
from typing import TYPE_CHECKING, Any

from replication.copier.spec import UnitReport, UnitSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Attend = Callable[[UnitSpec, int], Awaitable[UnitReport | None]]

_HELLO = b"h"
_HELLO_S = 1.0  # a process that is frozen does not say it
_END_S = 20.0  # after the epoch: for a clean end, which waits for the last answers
_LENGTH = struct.Struct("!Q")
_PEER = struct.Struct("3i")  # process, user, group


class UnixUnitSockets:
    """Implements ``copier.host.UnitSockets`` for the processes of one machine (Linux)."""

    async def open(self, spec: UnitSpec, attend: Attend) -> Callable[[], None] | None:
        async def on_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.closing(writer), contextlib.suppress(OSError, EOFError):
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
                line.sendall(_packed((spec, here)))
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
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    spec, there = pickle.loads(await reader.readexactly(length))  # noqa: S301 -- of our own user
    writer.write(_HELLO)
    await writer.drain()
    copying = asyncio.ensure_future(attend(spec, there))
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({copying, gone}, return_when=asyncio.FIRST_COMPLETED)
        if copying.done():
            writer.write(pickle.dumps(copying.result()))
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


def _packed(value: Any) -> bytes:
    data = pickle.dumps(value)
    return _LENGTH.pack(len(data)) + data


def _all_of(line: socket.socket) -> bytes:
    parts = []
    while part := line.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def _report_in(data: bytes) -> UnitReport | None:
    """Return the report; None: the unit was left to us, or the process that copied it died."""
    report = pickle.loads(data) if data else None  # noqa: S301 -- of our own user
    return report if isinstance(report, UnitReport) else None
