"""A connection's requests and responses, over a pair of sockets."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from replication.adapters.wire.connection import channel
from replication.adapters.wire.connection.channel import Channel
from replication.adapters.wire.connection.open_connection import OpenConnection
from replication.client.moment import Moment
from replication.errors import ClusterUnavailable


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


async def within_10_s(reached) -> None:
    deadline = time.monotonic() + 10
    while not reached():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.001)


class Peer:
    """A channel, the broker's end of its socket, and what the channel's callbacks got."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.far = far
        self.channel = Channel(OpenConnection(near, {}, None), "b1:9092")
        self.got: list[tuple[str, bytes | None, str | None]] = []

    def ask(self, name: str, timeout_s: float = 60.0, buffers=(b"?",), buffer=None) -> None:
        def take(frame, error) -> None:
            body = None if frame is None else bytes(frame)
            self.got.append((name, body, None if error is None else str(error)))

        self.channel.request(buffers, take, timeout_s, buffer)

    def answered(self, *names: str) -> list[tuple]:
        return [(each, f"response to {each}".encode(), None) for each in names]

    async def until(self, count: int) -> None:
        """Wait for so many responses."""
        await within_10_s(lambda: len(self.got) >= count)


def with_peer(check) -> None:
    async def run() -> None:
        near, far = socket.socketpair()
        near.settimeout(0)
        peer = Peer(near, far)
        try:
            await check(peer)
        finally:
            peer.channel.close()
            far.close()

    asyncio.run(run())


def test_responses_belong_to_requests_in_the_order_they_were_sent():
    async def check(peer: Peer) -> None:
        for name in ("a", "b", "c"):
            peer.ask(name, buffers=[name.encode()])
        assert peer.far.recv(10) == b"abc"
        assert peer.channel.open_requests == 3
        peer.far.sendall(b"".join(framed(f"response to {each}".encode()) for each in "abc"))
        await peer.until(3)
        assert peer.got == peer.answered("a", "b", "c")
        assert peer.channel.open_requests == 0

    with_peer(check)


@pytest.mark.parametrize("size", [1, 3, 5, 17, 18, 40])
def test_responses_are_whole_however_the_bytes_arrive(size):
    async def check(peer: Peer) -> None:
        for name in ("a", "b", "c"):
            peer.ask(name)
        data = b"".join(framed(f"response to {each}".encode()) for each in "abc")
        for at in range(0, len(data), size):
            peer.far.sendall(data[at : at + size])
            await asyncio.sleep(0.001)
        await peer.until(3)
        assert peer.got == peer.answered("a", "b", "c")

    with_peer(check)


def test_a_size_that_is_cut_behind_another_response_is_kept():
    async def check(peer: Peer) -> None:
        first, second = b"a" * 300, b"b" * 70_000  # the first bytes of their sizes differ
        peer.ask("a")
        peer.ask("b")
        data = framed(first) + framed(second)
        peer.far.sendall(data[: len(framed(first)) + 3])
        await peer.until(1)
        peer.far.sendall(data[len(framed(first)) + 3 :])
        await peer.until(2)
        assert peer.got == [("a", first, None), ("b", second, None)]

    with_peer(check)


def test_a_large_response_is_received_into_the_requests_own_buffer():
    memory = bytearray(1 << 20)

    class Own:
        def view(self, size: int) -> memoryview:
            return memoryview(memory)[:size]

    async def check(peer: Peer) -> None:
        body = bytes(range(256)) * 1024  # larger than what is read at first
        peer.ask("large", buffer=Own())
        peer.ask("a")
        loop = asyncio.get_running_loop()
        rest = framed(body) + framed(b"response to a")
        await loop.run_in_executor(None, peer.far.sendall, rest)
        await peer.until(2)
        assert peer.got == [("large", body, None), *peer.answered("a")]
        assert memory[: len(body)] == body

    with_peer(check)


@pytest.mark.parametrize("pieces", [1, 3000])
def test_a_request_larger_than_the_sockets_buffer_is_sent_whole(pieces):
    async def check(peer: Peer) -> None:
        data = bytes(range(251)) * 12_000  # 3 MB
        cut = -(-len(data) // pieces)
        peer.ask("a", buffers=[data[at : at + cut] for at in range(0, len(data), cut)])
        peer.ask("b", buffers=[b"after it"])

        def receive() -> bytes:
            got = bytearray()
            while len(got) < len(data) + 8:
                got += peer.far.recv(1 << 20)
            return bytes(got)

        assert await asyncio.get_running_loop().run_in_executor(None, receive) == data + b"after it"
        peer.ask("c", buffers=[b"and again"])
        assert peer.far.recv(100) == b"and again"

    with_peer(check)


def test_the_rest_of_a_request_is_not_sent_after_the_process_was_frozen(monkeypatch):
    """BL-218: whoever sent it has to ask first whether it still may."""

    async def check(peer: Peer) -> None:
        body = bytes(1 << 23)  # more than the socket takes at once
        peer.ask("large", buffers=[body])
        then = Moment.now()
        later = Moment(then.running + channel._STUCK_S + 1, then.wall)
        monkeypatch.setattr(Moment, "now", classmethod(lambda _: later))
        loop, received = asyncio.get_running_loop(), 0
        while data := await loop.run_in_executor(None, peer.far.recv, 1 << 20):
            received += len(data)
        assert received < len(body)
        ((name, body, problem),) = peer.got
        assert (name, body) == ("large", None)
        assert "was not sent within 15 s" in problem

    with_peer(check)


def test_the_oldest_request_decides_what_is_overdue():
    async def check(peer: Peer) -> None:
        now = time.monotonic()
        assert not peer.channel.overdue(now + 1e6), "there is no request"
        peer.ask("a", timeout_s=10)
        peer.ask("b", timeout_s=1000)
        peer.ask("c", timeout_s=1)
        assert not peer.channel.overdue(now + 5)
        assert peer.channel.overdue(now + 11)
        peer.far.sendall(framed(b"response to a"))
        await peer.until(1)
        assert not peer.channel.overdue(now + 11), "b is the oldest now"
        assert peer.channel.overdue(now + 1001)

    with_peer(check)


def test_a_connection_that_ends_fails_every_open_request_and_those_that_follow():
    async def check(peer: Peer) -> None:
        peer.ask("a")
        peer.ask("b")
        assert peer.far.recv(10) == b"??"
        peer.far.close()
        await peer.until(2)
        peer.ask("c")
        assert len(peer.got) == 2, "no callback runs before its request has returned"
        await peer.until(3)
        why = "connection to b1:9092: the broker closed the connection"
        assert peer.got == [(each, None, why) for each in "abc"]
        assert isinstance(peer.channel.error, ClusterUnavailable)
        assert peer.channel.open_requests == 0

    with_peer(check)


def test_closing_fails_open_requests_with_the_reason_of_the_first_close():
    async def check(peer: Peer) -> None:
        peer.ask("a")
        peer.channel.close(ClusterUnavailable("no response in time"))
        peer.channel.close(ClusterUnavailable("another reason"))
        assert peer.got == [("a", None, "no response in time")]
        assert str(peer.channel.error) == "no response in time"
        assert peer.channel.connection.sock.fileno() == -1

    with_peer(check)


def test_a_response_that_no_request_asked_for_ends_the_connection():
    async def check(peer: Peer) -> None:
        peer.ask("a")
        peer.far.sendall(framed(b"response to a") + framed(b"response to nobody"))
        await peer.until(1)
        await within_10_s(lambda: peer.channel.error is not None)
        assert peer.got == peer.answered("a")
        assert "a response without a request" in str(peer.channel.error)

    with_peer(check)


def test_a_callback_may_close_the_connection_while_more_responses_are_there():
    async def check(peer: Peer) -> None:
        peer.channel.request([b"?"], lambda *_: peer.channel.close(), 60)
        peer.ask("b")
        peer.far.sendall(framed(b"response to a") + framed(b"response to b"))
        await peer.until(1)
        assert peer.got == [("b", None, "connection to b1:9092: closed")]

    with_peer(check)


def test_a_broker_that_throttles_is_left_alone_for_as_long_and_answers_that_much_later():
    """KIP-219: it reads no request meanwhile, also none of those that were sent before."""

    async def check(peer: Peer) -> None:
        peer.ask("a", timeout_s=30)
        began = time.monotonic()
        assert peer.channel.pause_s(began) <= 0
        peer.channel.throttle(4_000, began)
        peer.channel.throttle(1_000, began)  # a shorter one ends none
        assert peer.channel.pause_s(began + 1) == pytest.approx(3)
        assert not peer.channel.overdue(began + 34)
        assert peer.channel.overdue(began + 36)

    with_peer(check)


@pytest.mark.parametrize(("told_ms", "obeyed_s"), [(2**31 - 1, 300), (-5, 0)])
def test_no_broker_silences_us_for_longer_than_five_minutes_at_once(told_ms, obeyed_s):
    async def check(peer: Peer) -> None:
        began = time.monotonic()
        peer.channel.throttle(told_ms, began)
        assert max(0, peer.channel.pause_s(began)) == pytest.approx(obeyed_s)

    with_peer(check)
