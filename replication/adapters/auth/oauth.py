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

from kafka.net.sasl.oauth import AbstractTokenProvider

from replication.errors import ClusterUnavailable, ConfigError

_RENEW_AT = 0.8  # of a token's life, as the Java clients do
_YOUNG_S = 10.0
_TIMEOUT_S = 10.0


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
    """Fetches tokens; a short outage of the end-point is bridged while the last one lives."""

    def __init__(self, credentials: ClientCredentials) -> None:
        super().__init__()
        self._credentials = credentials
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
        with self._lock:
            now = time.time()
            if now >= self._renew_at:
                self._renew(now)
            return self._token

    def _renew(self, now: float) -> None:
        try:
            self._token, lifetime_s = _fetch(self._credentials)
        except ClusterUnavailable:
            if now >= self._ends_at:
                raise
            return  # the old one is still good
        self._fetched_at = now
        self._renew_at, self._ends_at = now + lifetime_s * _RENEW_AT, now + lifetime_s


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
            answer = json.load(reply)
        return str(answer["access_token"]), float(answer.get("expires_in", 300))
    except urllib.error.HTTPError as error:
        if error.code < 500:
            raise ConfigError(f"requesting a token from {url}: HTTP {error.code}") from None
        raise ClusterUnavailable(f"requesting a token from {url}: HTTP {error.code}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise ClusterUnavailable(f"requesting a token from {url}: {reason}") from None


def _encoded(part: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """What a token end-point wants to know."""

    url: str
    client_id: str
    secret: str = field(repr=False)
    scope: str = ""
