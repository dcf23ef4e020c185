"""Tokens for SASL/OAUTHBEARER: fetched with client credentials, renewed before they expire."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kafka.net.sasl.oauth import AbstractTokenProvider

from replication.errors import ClusterUnavailable, ConfigError, LoginRejected

if TYPE_CHECKING:
    import http.client

# Of a token's life. A SASL session ends with its token: each lasts half of that at least, which is
# long enough for its connection to log in anew.
_RENEW_AT = 0.5
_YOUNG_S = 10.0
_TIMEOUT_S = 10.0
_LARGEST = 1 << 20  # bytes of a response
_CREDENTIALS = ": correct the client id, the secret or the scope"
_TO_DO = {  # about a response, where its status says so much
    **dict.fromkeys((400, 401, 403), _CREDENTIALS),
    404: ": correct sasl.oauthbearer.token.endpoint.url",
}
_BUSY = (408, 429)  # a time-out, too many requests: the same request may be granted later


class TokenSource(Protocol):
    """Where tokens come from."""

    def fetch(self) -> tuple[str, float]:
        """Return a token and its life in s. Raises ClusterUnavailable or ConfigError."""


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
    """Fetches tokens; a short outage of their source is bridged while the last one lives.

    Meanwhile the source is asked every 10 s at most.
    """

    def __init__(self, source: TokenSource) -> None:
        super().__init__()
        self._source = source
        self._lock = threading.Lock()
        self._token = ""
        self._fetched_at = self._renew_at = self._ends_at = 0.0

    def forget(self) -> None:
        """Let the next login fetch another token, for a broker refused this one.

        A token that is younger than 10 s stays: another one would be refused too.
        """
        with self._lock:
            if time.time() - self._fetched_at >= _YOUNG_S:
                self._renew_at = self._ends_at = 0.0

    def token(self) -> str:
        """Return a token that is valid now. Raises ClusterUnavailable or ConfigError."""
        return self.token_and_end()[0]

    def token_and_end(self) -> tuple[str, float]:
        """Return such a token, and when it ends, in s since 1970."""
        with self._lock:
            now = time.time()
            if now >= self._renew_at:
                self._renew(now)
            return self._token, self._ends_at

    def _renew(self, now: float) -> None:
        try:
            self._token, lifetime_s = self._source.fetch()
        except ClusterUnavailable:
            if now >= self._ends_at:
                raise
            # The old one is still good. Each login that waits here would ask a busy end-point too.
            self._renew_at = min(now + _YOUNG_S, self._ends_at)
            return
        self._fetched_at = now
        self._renew_at, self._ends_at = now + lifetime_s * _RENEW_AT, now + lifetime_s


class TokenCallback:
    """Hands tokens to librdkafka, which asks after 80 % of a token's life, in a thread of its own.

    It never raises: nobody could catch that there. Where it has no token for a moment it hands
    over the last one, for 10 s. A broker refuses that if it has ended; whoever makes a client anew
    because of that calls ``require`` and gets the reason.
    """

    def __init__(self, provider: TokenProvider) -> None:
        self._provider = provider
        self._last = "none"

    def require(self, where: str) -> None:
        """Raise ClusterUnavailable or LoginRejected where there is no token for ``where``."""
        try:
            self._last = self._provider.token()
        except ConfigError as error:
            raise LoginRejected(f"authenticating at {where}: {error}") from error
        except ClusterUnavailable as error:
            raise ClusterUnavailable(f"authenticating at {where}: {error}") from error

    def __call__(self, _: object) -> tuple[str, float]:
        """Return a token, and when it ends, in s since 1970."""
        try:
            self._last, ends_at = self._provider.token_and_end()
        except (ClusterUnavailable, ConfigError):
            ends_at = time.time() + _YOUNG_S
        return self._last, ends_at


class UnsecuredTokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
    """Makes unsigned tokens, for test clusters alone: Kafka calls them unsecured JWS."""

    def __init__(self, principal: str) -> None:
        super().__init__()
        self._principal = principal

    def token(self) -> str:
        """Return a token without a signature."""
        now = int(time.time())
        claims = {"sub": self._principal, "iat": now, "exp": now + 3600}
        return ".".join((_encoded({"alg": "none"}), _encoded(claims), ""))


def _fetch(credentials: ClientCredentials) -> tuple[str, float]:
    """Return a token and its life in seconds."""
    url = credentials.url
    shown = _without_login(url)
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError("sasl.oauthbearer.token.endpoint.url must begin with https:// or http://")
    pair = f"{credentials.client_id}:{credentials.secret}".encode()
    form = {"grant_type": "client_credentials"}
    form |= {"scope": credentials.scope} if credentials.scope else {}
    request = urllib.request.Request(  # noqa: S310 -- the scheme was checked
        url,
        data=urllib.parse.urlencode(form).encode(),
        headers={"Authorization": f"Basic {base64.b64encode(pair).decode()}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:  # noqa: S310 -- the scheme was checked
            answer = json.loads(_body(reply))
        return str(answer["access_token"]), float(answer.get("expires_in", 300))
    except urllib.error.HTTPError as error:
        error.close()
        passes = error.code >= 500 or error.code in _BUSY
        kind = ClusterUnavailable if passes else ConfigError
        to_do = _TO_DO.get(error.code, "")
        raise kind(f"requesting a token from {shown}: HTTP {error.code}{to_do}") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise ClusterUnavailable(f"requesting a token from {shown}: {reason}") from None


def _body(reply: http.client.HTTPResponse) -> bytes:
    """Return the whole response, which may neither be huge nor drip in."""
    found, deadline = b"", time.monotonic() + _TIMEOUT_S
    while part := reply.read1(_LARGEST):
        found += part
        if len(found) > _LARGEST:
            raise ValueError("the response is not a token")
        if time.monotonic() > deadline:
            raise TimeoutError
    return found


def _without_login(url: str) -> str:
    """Return ``url`` without user and password, and without a query: it may hold a key."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _encoded(part: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """What a token end-point wants to know."""

    url: str
    client_id: str
    secret: str = field(repr=False)
    scope: str = ""

    def fetch(self) -> tuple[str, float]:
        """Return a token and its life in s. Raises ClusterUnavailable or ConfigError."""
        return _fetch(self)
