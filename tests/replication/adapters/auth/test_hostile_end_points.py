"""A token end-point that is broken or hostile: bounded, and its address shows no secret."""

from __future__ import annotations

import json
import socket

import pytest
from support.network.broken_servers import a_server

from replication.adapters.auth import oauth
from replication.adapters.auth.oauth import ClientCredentials, TokenProvider
from replication.errors import ClusterUnavailable, ConfigError

HEAD = b"HTTP/1.1 %s\r\nConnection: close\r\n\r\n"


def answers(status: bytes, body: bytes):
    def answer(near: socket.socket) -> None:
        near.recv(1 << 16)
        near.sendall(HEAD % status + body)
        near.shutdown(socket.SHUT_WR)

    return answer


def token(answer) -> str:
    with a_server(answer) as port:
        url = f"http://127.0.0.1:{port}/token?key=hush"
        return TokenProvider(ClientCredentials(url, "id", "hush")).token()


def test_a_token_is_read():
    assert token(answers(b"200 OK", json.dumps({"access_token": "t"}).encode())) == "t"


REJECTED = "HTTP 401: correct the client id, the secret or the scope"
NOT_THERE = "HTTP 404: correct sasl.oauthbearer.token.endpoint.url"


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (b"200 OK", b"x" * (2 << 20), ClusterUnavailable, "ValueError"),
        (b"200 OK", b"\xff\xff\xff", ClusterUnavailable, "invalid start byte"),
        (b"200 OK", b"[" * 100_000, ClusterUnavailable, "RecursionError"),
        (b"401 No", b"", ConfigError, REJECTED),
        (b"400 No", b"", ConfigError, REJECTED.replace("401", "400")),
        (b"404 No", b"", ConfigError, NOT_THERE),
        (b"407 No", b"", ConfigError, "HTTP 407"),
        (b"408 No", b"", ClusterUnavailable, "HTTP 408"),
        (b"429 No", b"", ClusterUnavailable, "HTTP 429"),
        (b"503 No", b"", ClusterUnavailable, "HTTP 503"),
    ],
    ids=["2 MB", "no text", "nested", "401", "400", "404", "407", "408", "429", "503"],
)
def test_what_is_no_token_is_one_error_without_a_secret(status, body, kind, reason):
    with pytest.raises(kind) as raised:
        token(answers(status, body))
    output = str(raised.value)
    assert output.startswith("requesting a token from http://127.0.0.1:")
    assert output.endswith(f"/token: {reason}")


def test_an_end_point_that_is_asked_too_often_leaves_the_token_that_is_still_good(monkeypatch):
    """It is not asked again at once, but it is before a token is given that has ended."""
    now = [1000.0]
    monkeypatch.setattr(oauth.time, "time", lambda: now[0])
    answered = [
        answers(b"200 OK", json.dumps({"access_token": "t", "expires_in": 100}).encode()),
        *[answers(b"429 No", b"")] * 3,
    ]

    def next_answer(near: socket.socket) -> None:
        answered.pop(0)(near)

    with a_server(next_answer) as port:
        tokens = TokenProvider(ClientCredentials(f"http://127.0.0.1:{port}/token", "id", "hush"))
        assert tokens.token() == "t"
        for s, left in ((84.0, 2), (9.9, 2), (0.2, 1), (5.8, 1)):  # the end: after 100 s
            now[0] += s
            assert (tokens.token(), len(answered)) == ("t", left)
        now[0] += 0.2
        with pytest.raises(ClusterUnavailable, match="HTTP 429"):
            tokens.token()
        assert not answered


def test_a_response_that_drips_in_is_given_up(monkeypatch):
    monkeypatch.setattr(oauth, "_TIMEOUT_S", 0.3)

    def drips(near: socket.socket) -> None:
        near.recv(1 << 16)
        near.sendall(HEAD % b"200 OK")
        for _ in range(100):
            near.sendall(b"x")
            near.settimeout(0.05)
            try:
                near.recv(1)
            except TimeoutError:
                continue
            return

    with pytest.raises(ClusterUnavailable, match=r"/token: TimeoutError$"):
        token(drips)
