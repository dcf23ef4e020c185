"""Connections that are opened in threads."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from replication.adapters.wire.connection import dialer
from replication.adapters.wire.connection.dialer import Dialer
from replication.adapters.wire.connection.open_connection import OpenConnection


@pytest.fixture
def ends(monkeypatch):
    """Give a pair of sockets; the first one is what is dialed, once ``ends.goes_on`` is set."""
    made, goes_on = socket.socketpair(), threading.Event()

    def dial(*_) -> OpenConnection:
        goes_on.wait(10)
        return OpenConnection(made[0], {}, None)

    monkeypatch.setattr(dialer, "open_connection", dial)
    yield made[1], goes_on
    for each in made:
        each.close()


def test_a_connection_whose_caller_has_gone_is_closed(ends):
    far, goes_on = ends
    far.settimeout(10)

    async def run() -> None:
        dialing = asyncio.create_task(Dialer({}, "me").open({}, "b", 1))
        await asyncio.sleep(0.05)
        dialing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialing
        goes_on.set()

    asyncio.run(run())
    assert far.recv(1) == b"", "its other end is told"


def test_what_is_dialed_is_returned(ends):
    _, goes_on = ends
    goes_on.set()
    opened = asyncio.run(Dialer({}, "me").open({}, "b", 1))
    assert opened.sock.fileno() >= 0
