"""The token end-point, asked as our clients ask, and its tokens, checked as brokers check them."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.request

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from replication.adapters.auth.oauth import ClientCredentials, TokenProvider
from replication.adapters.local_secured.secret_file import read_secrets, write_secrets
from replication.adapters.local_secured.token_server import TOKEN_KEY, TokenServer
from replication.adapters.local_secured.tokens import new_token_key
from replication.errors import ConfigError

KEY = new_token_key()
LIFE_S = 120.0


@pytest.fixture
def server(tmp_path):
    """Serve, for the user ``mirror``."""
    (tmp_path / TOKEN_KEY).write_text(KEY.pem())
    write_secrets(tmp_path, {"mirror": 'of "mirror" \\ é'})
    with TokenServer(tmp_path, 0, LIFE_S) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def url(server) -> str:
    return f"http://127.0.0.1:{server.server_port}/token"


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def claims(token: str) -> dict:
    """Return what a token says, if its signature is that of the key set."""
    [key] = json.loads(KEY.key_set())["keys"]
    n, e = (int.from_bytes(decoded(key[each]), "big") for each in "ne")
    signed, _, signature = token.rpartition(".")
    public = rsa.RSAPublicNumbers(e, n).public_key()
    public.verify(decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    head, body = (json.loads(decoded(each)) for each in signed.split("."))
    assert (head["alg"], head["kid"]) == (key["alg"], key["kid"])
    return body


def test_a_user_gets_a_signed_token_that_ends_after_its_life(server, tmp_path):
    secret = read_secrets(tmp_path)["mirror"]
    token = TokenProvider(ClientCredentials(url(server), "mirror", secret)).token()
    found = claims(token)
    assert (found["sub"], found["aud"]) == ("mirror", "kafka")
    assert found["exp"] - found["iat"] == LIFE_S
    assert abs(found["iat"] - time.time()) < 60
    with pytest.raises(InvalidSignature):
        claims(token[:-9] + "AAAAAAAAA")


@pytest.mark.parametrize("who", [("mirror", "wrong"), ("nobody", "x"), ("", "")])
def test_who_does_not_know_a_secret_gets_no_token_and_a_line_that_says_so(server, who):
    with pytest.raises(ConfigError, match=r"requesting a token from http://\S+/token: HTTP 401"):
        TokenProvider(ClientCredentials(url(server), *who)).token()


def test_a_secret_that_was_replaced_counts_at_once(server, tmp_path):
    write_secrets(tmp_path, {"mirror": "second"})
    token = TokenProvider(ClientCredentials(url(server), "mirror", "second")).token()
    assert claims(token)["sub"] == "mirror"


def test_another_grant_is_refused(server):
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(url(server), data=b"grant_type=password")  # noqa: S310 -- ours
