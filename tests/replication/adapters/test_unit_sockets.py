"""What a process that copies a unit takes from a socket, and what it answers."""

from __future__ import annotations

import asyncio
import errno
import pickle
import socket
import struct

import pytest

from replication.adapters import unit_sockets
from replication.adapters.unit_json import spec_text
from replication.adapters.unit_sockets import UnixUnitSockets
from replication.copier.spec import UnitReport, UnitSpec

SPEC = UnitSpec(
    "A->B", "A", "B", unit=1, generation=2, epoch=3, partitions=(),
    source={"bootstrap.servers": "a:1", "sasl.jaas.config": "password"},
    target={"bootstrap.servers": "b:1"}, grace_s=3.0,
)  # fmt: skip
REPORT = UnitReport(1, 3, 20, 400, 0.25, 1, 2, 0, 0, "clean", in_grace=1)


_CLOSED = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)


class Explodes:
    """A pickle of it calls a function of the reader's process."""

    def __reduce__(self):
        return pytest.fail, ("what came over a socket was run",)


@pytest.fixture
def attended():
    """The requests that reach the process which copies the unit; it answers with REPORT."""
    return []


def exchange(attended, request) -> object:
    """Serve the unit's socket while ``request`` runs in a thread; return what it returns."""

    async def attend(spec, there):
        attended.append((spec, there))
        return REPORT

    async def main():
        close = await UnixUnitSockets().open(SPEC, attend)
        try:
            return await asyncio.to_thread(request)
        finally:
            close()
            await all_closed()

    return asyncio.run(main())


async def all_closed() -> None:
    """Wait for the tasks of connections, and a round more: there a transport closes its socket."""
    await asyncio.sleep(0.05)  # a connection that was just accepted has no task yet
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others, timeout=5)
    await asyncio.sleep(0.05)


def sent(data: bytes) -> bytes:
    """Return all that is answered to some bytes; none where the line is closed before."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(5)
            line.connect(unit_sockets._name(SPEC))
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: line.recv(4096), b""))
    except OSError as error:
        if error.errno not in _CLOSED:
            raise
        return b""


def framed(body: bytes) -> bytes:
    return struct.pack("!IQ", 0, len(body)) + body


def test_an_epoch_is_requested_with_its_spec_and_answered_with_the_report(attended):
    assert exchange(attended, lambda: UnixUnitSockets().request_epoch(SPEC, 4)) == REPORT
    assert attended == [(SPEC, 4)]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(framed(pickle.dumps((Explodes(), 1))), id="a pickle"),
        pytest.param(struct.pack("!Q", 20) + pickle.dumps((Explodes(), 1)), id="an old frame"),
        pytest.param(struct.pack("!IQ", 0, 1 << 62), id="a huge length"),
        pytest.param(framed(b"{}"), id="no spec"),
        pytest.param(framed(b"\xff\xfe"), id="no text"),
        pytest.param(framed(spec_text(SPEC).encode())[:-3], id="cut short"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_request_is_not_answered_and_ends_nothing(attended, data):
    def both():
        return sent(data), UnixUnitSockets().request_epoch(SPEC, 4)

    assert exchange(attended, both) == (b"", REPORT)
    assert attended == [(SPEC, 4)]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(pickle.dumps(Explodes()), id="a pickle"),
        pytest.param(b"{}", id="no report"),
        pytest.param(b"", id="nothing: the process died"),
    ],
)
def test_what_is_no_report_is_none(answer):
    name = unit_sockets._name(SPEC)

    async def main():
        async def impostor(reader, writer):
            await reader.read(1)
            writer.write(b"h" + answer)
            await writer.drain()
            writer.close()

        server = await asyncio.start_unix_server(impostor, name)
        async with server:
            found = await asyncio.to_thread(UnixUnitSockets().request_epoch, SPEC, 0)
        await all_closed()
        return found

    assert asyncio.run(main()) is None


def test_only_processes_of_the_same_user_are_listened_to(attended, monkeypatch):
    monkeypatch.setattr(unit_sockets, "_user_behind", lambda _line: -1)
    data = framed(spec_text(SPEC).encode())
    assert exchange(attended, lambda: sent(data)) == b""
    assert attended == []


def test_no_process_of_another_user_gets_a_spec(monkeypatch):
    monkeypatch.setattr(unit_sockets, "_user_behind", lambda _line: -1)
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(unit_sockets._name(SPEC))
        theirs.listen()
        assert UnixUnitSockets().request_epoch(SPEC, 0) is None
        with theirs.accept()[0] as line:
            assert line.recv(1) == b""
