"""Connections that fail leave nothing behind, and say where and why."""

from __future__ import annotations

import contextlib
import gc
import socket
import struct
import threading
import time
import warnings
from contextlib import contextmanager

import pytest
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse
from support.network.broken_servers import a_closed_port, a_server

from replication.adapters.wire.connection import open_connection as open_connection_module
from replication.adapters.wire.connection.open_connection import _reason, open_connection
from replication.errors import ClusterRejected, ClusterUnavailable

PLAIN, TLS = {"security_protocol": "PLAINTEXT"}, {"security_protocol": "SSL"}


@contextmanager
def nothing_left_open():
    """Fail when a socket is left to the garbage collector."""
    gc.freeze()  # what is there already is not looked at below
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in caught] == []


API_VERSIONS, HANDSHAKE, AUTHENTICATE = 18, 17, 36
SUPPORTED = {API_VERSIONS: (0, 4), HANDSHAKE: (0, 1), AUTHENTICATE: (0, 1)}
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "mirror",
    "sasl_plain_password": "secret",
}


def a_broker(lifetime_ms: int, error: int = 0):
    """Return what answers a login: the session ends ``lifetime_ms`` later (KIP-368), 0 never."""
    responses = {
        API_VERSIONS: ApiVersionsResponse(
            error_code=0,
            api_keys=[
                ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in SUPPORTED.items()
            ],
            throttle_time_ms=0,
        ),
        HANDSHAKE: SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"]),
        AUTHENTICATE: SaslAuthenticateResponse(
            error_code=error,
            error_message="wrong password" if error else None,
            auth_bytes=b"",
            session_lifetime_ms=lifetime_ms,
        ),
    }

    def answer(near: socket.socket) -> None:
        with near.makefile("rb") as sent:
            while size := sent.read(4):
                request = sent.read(int.from_bytes(size, "big"))
                key, version, correlation = struct.unpack_from(">hhi", request)
                body = struct.pack(">i", correlation) + responses[key].encode(version=version)
                framed = len(body).to_bytes(4, "big") + body
                if error and key == AUTHENTICATE:  # a broker closes, mostly in the same segment
                    near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
                    near.sendall(framed)
                    near.shutdown(socket.SHUT_WR)
                    return
                near.sendall(framed)

    return answer


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


def test_a_connection_knows_when_its_sasl_session_ends_and_what_the_broker_supports():
    with a_server(a_broker(lifetime_ms=90_000)) as port, nothing_left_open():
        opened_after = time.monotonic()
        connection = open_connection("127.0.0.1", port, SASL, 5.0)
        connection.sock.close()
    assert opened_after + 90 <= connection.expires_at <= time.monotonic() + 90
    assert connection.versions == SUPPORTED


def test_a_sasl_session_without_an_end_never_expires():
    with a_server(a_broker(lifetime_ms=0)) as port, nothing_left_open():
        connection = open_connection("127.0.0.1", port, SASL, 5.0)
        connection.sock.close()
    assert connection.expires_at is None


def test_credentials_that_the_broker_rejects_are_rejected_with_its_reason():
    with (
        a_server(a_broker(lifetime_ms=0, error=58)) as port,
        nothing_left_open(),
        pytest.raises(ClusterRejected, match=f"authenticating at 127.0.0.1:{port}: .*wrong passw"),
    ):
        open_connection("127.0.0.1", port, SASL, 5.0)


def test_a_socket_that_was_taken_over_notices_a_silent_peer_and_sends_at_once():
    with a_server(a_broker(lifetime_ms=0)) as port, nothing_left_open():
        sock = open_connection("127.0.0.1", port, SASL, 5.0).sock
        options = {
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE): 1,
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE): 10,
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL): 2,
            (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT): 15_000,
            (socket.IPPROTO_TCP, socket.TCP_NODELAY): 1,
        }
        found = {each: sock.getsockopt(*each) for each in options}
        blocking = sock.getblocking()
        sock.close()
    assert (found, blocking) == (options, False)


@pytest.mark.parametrize(
    "reported",
    [
        "[Error 58] SaslAuthenticationFailedError: wrong password",
        "SaslAuthenticationFailedError: wrong password",
        "wrong password",
    ],
)
def test_a_refusal_is_told_in_the_brokers_words(reported):
    assert _reason(Exception(reported)) == "wrong password"


@pytest.mark.parametrize("lost", ["closed", "aborted"])
def test_a_connection_that_is_lost_right_after_its_login_is_unavailable(monkeypatch, lost):
    initialize = open_connection_module.KafkaConnection.initialize

    async def initialized_and_lost(self, **limits):
        await initialize(self, **limits)
        await self
        if lost == "closed":
            self.close()
        else:
            self.transport.abort(OSError("reset"))

    monkeypatch.setattr(open_connection_module.KafkaConnection, "initialize", initialized_and_lost)
    with (
        a_server(a_broker(0)) as port,
        nothing_left_open(),
        pytest.raises(ClusterUnavailable, match="closed the connection after the login"),
    ):
        open_connection("127.0.0.1", port, SASL, 5)
