"""Which TLS protocols and cipher suites a client may use, from Java's settings.

OpenSSL has no setting per client for the suites of TLS 1.3: it offers its three. Isthmus' own
connections end after the handshake if another one than the listed ones was chosen; librdkafka's do
not, nor can librdkafka be kept from TLS 1.3.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.config.file.tls_names import (
    PROTOCOLS,
    SUITES_1_3,
    TLS_1_2,
    TLS_1_3,
    cipher_suites,
    newest_protocol,
    tls_protocols,
)
from replication.config.file.values import items
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    Read = TypeVar("Read")

_VERSIONS = {TLS_1_2: ssl.TLSVersion.TLSv1_2, TLS_1_3: ssl.TLSVersion.TLSv1_3}
# A suite that librdkafka cannot use, so that it offers those of TLS 1.3 alone.
_NONE_OF_1_2 = "PSK-AES128-GCM-SHA256"


@dataclass(frozen=True, slots=True)
class TlsLimits:
    """``protocols`` from the oldest on; ``suites`` as OpenSSL names them, empty: its own choice."""

    protocols: tuple[str, ...] = PROTOCOLS
    suites: tuple[str, ...] = ()

    def apply(self, context: ssl.SSLContext) -> None:
        """Let ``context`` use nothing else, but for the choice of a suite of TLS 1.3."""
        context.minimum_version = _VERSIONS[self.protocols[0]]
        context.maximum_version = _VERSIONS[self.protocols[-1]]
        if self._older_suites:
            context.set_ciphers(":".join(self._older_suites))

    def refusal(self, suite: str) -> str:
        """Return why a connection must not be used that has this suite; empty: it may be."""
        if not self.suites or suite in self.suites:
            return ""
        return f"it chose the cipher suite {suite}, which ssl.cipher.suites does not list"

    @property
    def for_librdkafka(self) -> dict[str, str]:
        """The settings of librdkafka that come nearest."""
        if self.protocols == (TLS_1_3,):
            return {"ssl.cipher.suites": _NONE_OF_1_2}
        return {"ssl.cipher.suites": ":".join(self._older_suites)} if self._older_suites else {}

    @property
    def beyond_librdkafka(self) -> str:
        """What librdkafka does although it should not; empty: nothing."""
        if TLS_1_3 not in self.protocols:
            return "uses TLS 1.3 where a broker offers it"
        if self.suites and not set(SUITES_1_3) <= set(self.suites):
            return "may use any cipher suite of TLS 1.3"
        return ""

    @property
    def _older_suites(self) -> tuple[str, ...]:
        return tuple(each for each in self.suites if each not in SUITES_1_3)


def tls_limits(props: Mapping[str, str]) -> TlsLimits:
    """Return the limits of Java client properties. Raises ConfigError."""
    enabled = _read(props, "ssl.enabled.protocols", lambda text: tls_protocols(items(text)))
    newest = _read(props, "ssl.protocol", lambda text: newest_protocol(text.strip()))
    suites = _read(props, "ssl.cipher.suites", lambda text: cipher_suites(items(text)))
    usable = [
        each
        for each, has_suite in (
            (TLS_1_2, not suites or not set(suites) <= set(SUITES_1_3)),
            (TLS_1_3, not suites or not set(suites).isdisjoint(SUITES_1_3)),
        )
        if has_suite and each in (enabled or PROTOCOLS) and each <= newest
    ]
    if not usable:
        raise ConfigError(
            "ssl.enabled.protocols, ssl.protocol and ssl.cipher.suites leave no protocol together"
        )
    return TlsLimits(tuple(usable), suites)


def _read(props: Mapping[str, str], key: str, read: Callable[[str], Read]) -> Read:
    try:
        return read(props.get(key, ""))
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None
