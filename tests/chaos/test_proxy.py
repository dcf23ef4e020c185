"""A proxy forwards bytes, delays them, or drops connections."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time

import pytest

from chaos.proxy import Proxy, Weather


class Echo:
    """Answers every connection with what it sends."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self.echo, args=(connection,), daemon=True).start()

    def echo(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(1 << 16):
                connection.sendall(data)


@pytest.fixture
def proxy():
    echo = Echo()
    made = Proxy(echo.listening.getsockname())
    yield made
    made.close()
    echo.listening.close()


@contextlib.contextmanager
def talking(proxy: Proxy):
    with socket.create_connection(proxy.address, timeout=10) as connection:
        assert echoed(connection, b"hello") == b"hello"
        yield connection


def echoed(connection: socket.socket, words: bytes) -> bytes:
    threading.Thread(target=connection.sendall, args=(words,)).start()
    received = b""
    while len(received) < len(words):
        received += connection.recv(1 << 16)
    return received


def test_bytes_pass_in_order_however_late(proxy):
    proxy.weather = Weather(0.005, 0.1, random.Random(1))
    words = random.Random(2).randbytes(1_000_000)
    with talking(proxy) as connection:
        assert echoed(connection, words) == words


def test_a_slow_network_takes_its_time_each_way(proxy):
    with talking(proxy) as connection:
        proxy.weather = Weather(0.1)
        began = time.monotonic()
        assert echoed(connection, b"x") == b"x"
        assert time.monotonic() - began >= 0.2


def test_a_cut_resets_what_is_open_and_lets_new_connections_through(proxy):
    with talking(proxy) as connection:
        assert proxy.cut() == 1
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with talking(proxy):
        pass


def test_a_stranded_connection_hears_nothing_and_is_not_told(proxy):
    with talking(proxy) as connection:
        assert proxy.strand() == 1
        connection.sendall(b"is anybody there?")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        with talking(proxy):
            pass


def test_what_is_blocked_arrives_afterwards(proxy):
    with talking(proxy) as connection:
        proxy.block()
        connection.sendall(b"later")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        proxy.unblock()
        connection.settimeout(10)
        assert connection.recv(10) == b"later"


def test_an_address_where_nobody_listens_ends_the_connection():
    nobody = Proxy(("127.0.0.1", 1))
    with (
        socket.create_connection(nobody.address, timeout=10) as connection,
        contextlib.suppress(ConnectionResetError),
    ):
        assert connection.recv(1) == b""
    nobody.close()
    nobody.close()
