"""Servers on this machine that are no brokers: they close, send garbage, or keep quiet."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def a_server(answer: Callable[[socket.socket], object]) -> Iterator[int]:
    """Accept connections, hand each to ``answer``, and close them at the end; yields the port."""
    listening = socket.create_server(("127.0.0.1", 0))
    accepted: list[socket.socket] = []

    def serve() -> None:
        try:
            while True:
                near, _ = listening.accept()
                accepted.append(near)
                answer(near)
        except OSError:
            return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for each in accepted:
            each.close()
        thread.join(5)


def a_closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def closes(near: socket.socket) -> None:
    near.close()


def keeps_quiet(near: socket.socket) -> None:
    """Accept, and never answer."""


def garbage(near: socket.socket) -> None:
    """Answer as a web server does."""
    near.recv(1 << 10)
    near.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def announces(size: int) -> Callable[[socket.socket], None]:
    """Return what answers with a response of ``size`` bytes, of which 100 come."""

    def answer(near: socket.socket) -> None:
        near.recv(1 << 10)
        near.sendall(size.to_bytes(4, "big") + bytes(100))

    return answer


def says(words: bytes) -> Callable[[socket.socket], None]:
    """Return what answers with ``words``, whatever is asked, and closes."""

    def answer(near: socket.socket) -> None:
        near.recv(1 << 10)
        near.sendall(words)
        near.close()

    return answer
