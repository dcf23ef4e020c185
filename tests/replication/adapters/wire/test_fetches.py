"""What a Fetch answer does to its session, whenever it comes."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from functools import partial

import pytest

from replication.adapters.wire import connect
from replication.adapters.wire.connection import dialer as module
from replication.adapters.wire.connection.open_connection import OpenConnection
from replication.client.fetch_session import FetchOptions, FetchSession
from replication.client.fetch_values import FetchBuffer
from replication.client.network import SessionLost
from replication.errors import ClusterUnavailable

NUMBER = 77  # of the session at the broker


def answer_of(error: int, throttled_ms: int = 0, number: int = 1) -> bytes:
    """Return a Fetch answer without partitions, to the first request."""
    throttled = struct.pack(">ihi", throttled_ms, error, NUMBER)
    body = struct.pack(">i", number) + b"\0" + throttled + b"\1\0"
    return struct.pack(">i", len(body)) + body


@pytest.fixture
def broker(monkeypatch):
    """The far end of every connection that is dialed."""
    near, far = socket.socketpair()
    near.settimeout(0)
    far.settimeout(30)
    monkeypatch.setattr(
        module, "open_connection", lambda *_: OpenConnection(near, {}, float("inf"))
    )
    yield far
    far.close()


def fetched(broker, session, before_the_answer=lambda: None, error=0) -> list:
    """Fetch once; return what the answer was."""

    async def run() -> list:
        network = connect({"bootstrap.servers": "broker:9092"}, "test")
        came = asyncio.Event()
        responses: list = []

        def take(found, problem) -> None:
            responses.append((found, problem))
            came.set()

        network.begin_fetch(-1, [], FetchOptions(session=session), FetchBuffer(), take)
        await asyncio.get_running_loop().run_in_executor(None, broker.recv, 1)
        before_the_answer()
        broker.sendall(answer_of(error))
        await came.wait()
        await network.close()
        return responses

    return asyncio.run(run())


def test_a_good_answer_opens_the_session(broker):
    session = FetchSession()
    assert fetched(broker, session) == [([], None)]
    assert (session.id, session.epoch) == (NUMBER, 1)


def test_an_answer_to_a_request_of_a_former_turn_leaves_the_session_as_it_is(broker):
    session = FetchSession()
    assert fetched(broker, session, session.restart) == [([], None)]
    assert session.fresh
    assert session.id == 0


def test_a_session_that_was_lost_in_a_former_turn_is_not_lost_again(broker):
    session = FetchSession()
    responses = fetched(broker, session, session.restart, 70)
    assert isinstance(responses[0][1], ClusterUnavailable)
    assert session.turn == 1


def test_a_session_that_the_broker_lost_begins_anew(broker):
    session = FetchSession(NUMBER, 5)
    assert isinstance(fetched(broker, session, error=70)[0][1], SessionLost)
    assert session.fresh


@pytest.mark.parametrize("left", ["anew", "dropped"])
def test_a_fetch_whose_turn_is_over_before_its_connection_is_open_is_not_sent(monkeypatch, left):
    session, begun, dialing = FetchSession(), threading.Event(), threading.Event()
    near, far = socket.socketpair()
    near.settimeout(0)
    far.settimeout(30)  # whoever dials closes the connection that nobody wants any more

    def dial(*_) -> OpenConnection:
        begun.set()
        dialing.wait(30)
        return OpenConnection(near, {}, float("inf"))

    monkeypatch.setattr(module, "open_connection", dial)

    async def run() -> tuple:
        network = connect({"bootstrap.servers": "broker:9092"}, "test")
        options, responses = FetchOptions(session=session), asyncio.Queue()
        network.begin_fetch(
            -1, [], options, FetchBuffer(), lambda *each: responses.put_nowait(each)
        )
        await asyncio.to_thread(begun.wait, 30)
        if left == "anew":
            session.restart()
        else:
            network.drop(options.line)
        dialing.set()
        answer = await responses.get()
        await network.close()
        return answer

    found, problem = asyncio.run(run())
    assert found is None
    assert isinstance(problem, ClusterUnavailable)
    with far:
        assert far.recv(1) == b""


def test_a_broker_that_throttles_a_fetch_gets_no_other_one_until_that_is_over(broker):
    """Whoever fetches asks before: what one reads by itself waits here."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        network = connect({"bootstrap.servers": "broker:9092"}, "test")
        fetch = partial(network.fetch, -1, [], FetchOptions(), FetchBuffer())
        first = asyncio.create_task(fetch())
        await loop.run_in_executor(None, broker.recv, 1000)
        broker.sendall(answer_of(0, throttled_ms=200))
        assert await first == []
        assert network.throttled_ms == 200
        line = FetchOptions().line
        assert 0 < network.pause_s(-1, line) <= 0.2
        assert network.pause_s(-1) == 0  # the connection for appends
        second = asyncio.create_task(fetch())
        await loop.run_in_executor(None, broker.recv, 1)
        assert network.pause_s(-1, line) <= 0
        broker.sendall(answer_of(0, number=2))
        assert await second == []
        assert network.throttled_ms == 200
        await network.close()

    asyncio.run(run())
