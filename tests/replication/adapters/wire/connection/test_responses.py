"""Bytes of a connection, and the responses in them."""

from __future__ import annotations

import pytest

from replication.adapters.wire.connection import responses
from replication.adapters.wire.connection.responses import NewBuffer, Responses

BODY = bytes(range(100))


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


class Reserved:
    """A request's buffer; it notes how much was asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._memory = memoryview(bytearray(1000))

    def view(self, size: int) -> memoryview:
        self.sizes.append(size)
        return self._memory[:size]


def received(found: Responses, sent: bytes, at_once: int) -> list[bytes]:
    """Return the responses in what was sent, read in pieces of at most ``at_once`` bytes."""
    bodies = []
    while sent:
        room = found.room
        count = min(len(room), at_once, len(sent))
        room[:count] = sent[:count]
        sent = sent[count:]
        bodies += [bytes(each) for each in found.take(count)]
    return bodies


@pytest.mark.parametrize("at_once", [1, 3, 7])
def test_a_large_response_takes_twice_the_memory_that_has_arrived_at_most(at_once, monkeypatch):
    monkeypatch.setattr(responses, "_TRUSTED", 10)
    buffer = Reserved()
    assert received(Responses(lambda: buffer), framed(BODY), at_once) == [BODY]
    assert buffer.sizes == [10, 20, 40, 80, 100]


def test_the_bytes_of_another_connection_begin_with_a_size():
    found = Responses(NewBuffer)
    assert received(found, framed(b"one") + b"\0\0", 1000) == [b"one"]
    found.begin()
    assert received(found, framed(b"two"), 1000) == [b"two"]


def test_only_a_request_for_records_may_get_a_response_of_more_than_100_mb(monkeypatch):
    monkeypatch.setattr(responses, "_TRUSTED", 10)
    announced = (200_000_000).to_bytes(4, "big")
    assert received(Responses(Reserved), announced, 1000) == []
    with pytest.raises(OSError, match="a response of 200,000,000 bytes was announced"):
        received(Responses(NewBuffer), announced, 1000)
