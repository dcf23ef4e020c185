"""Connections that fail leave nothing behind, and say where and why."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
import warnings
from contextlib import contextmanager

import pytest
from support.broken_servers import a_closed_port, a_server

from replication.adapters.wire.open_connection import open_connection
from replication.errors import ClusterUnavailable

PLAIN, TLS = {"security_protocol": "PLAINTEXT"}, {"security_protocol": "SSL"}


@contextmanager
def nothing_left_open():
    """Fail when a socket is left to the garbage collector."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in caught] == []


def test_a_refused_connection_is_closed():
    port = a_closed_port()
    with nothing_left_open(), pytest.raises(ClusterUnavailable, match=f"127.0.0.1:{port}.*refused"):
        open_connection("127.0.0.1", port, PLAIN, 2.0)


@pytest.mark.parametrize("config", [PLAIN, TLS], ids=["plain", "tls"])
def test_a_connection_that_the_other_side_ends_is_closed(config):
    with (
        a_server(lambda near: near.close()) as port,
        nothing_left_open(),
        pytest.raises(ClusterUnavailable, match=f"connecting to 127.0.0.1:{port}"),
    ):
        open_connection("127.0.0.1", port, config, 2.0)


@pytest.mark.parametrize("config", [PLAIN, TLS], ids=["plain", "tls"])
def test_a_connection_that_never_answers_is_given_up_and_closed(config):
    with (
        a_server(lambda near: near) as port,
        nothing_left_open(),
        pytest.raises(ClusterUnavailable, match=f"connecting to 127.0.0.1:{port}"),
    ):
        open_connection("127.0.0.1", port, config, 0.5)


@pytest.mark.parametrize("host", ["::1", "::1%1"])
def test_an_ipv6_address_is_reached_at_its_own_port(host):
    """``[::1%1]`` is the loopback with its scope, which stands for ``[fe80::1%eth0]``."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listening:
        listening.settimeout(5)
        port = listening.getsockname()[1]
        dialing = threading.Thread(target=lambda: _refused(host, port))
        dialing.start()
        near, _ = listening.accept()
        near.close()
        dialing.join(5)
    with nothing_left_open(), pytest.raises(ClusterUnavailable) as refused:
        open_connection(host, port, PLAIN, 2.0)
    assert str(refused.value).startswith(f"connecting to [{host}]:{port}: ")


def _refused(host: str, port: int) -> None:
    with contextlib.suppress(ClusterUnavailable):
        open_connection(host, port, PLAIN, 2.0)


def test_a_name_that_nobody_knows_is_reported():
    with nothing_left_open(), pytest.raises(ClusterUnavailable, match=r"nowhere\.invalid"):
        open_connection("nowhere.invalid", 9092, PLAIN, 2.0)
