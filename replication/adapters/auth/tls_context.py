"""The SSL context of a connection: trusted authorities, host name, own certificate.

Its certificates and its key come from memory.
"""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

from replication.config.file.tls_limits import TlsLimits
from replication.errors import ConfigError

if TYPE_CHECKING:
    from replication.adapters.auth.key_stores import PemStore


class TlsContext(ssl.SSLContext):
    """A context that knows its limits: OpenSSL keeps all of them but one."""

    limits = TlsLimits()

    def use(self, limits: TlsLimits) -> None:
        """Offer no protocol and, of TLS 1.2, no cipher suite beyond ``limits``."""
        self.limits = limits
        limits.apply(self)


def tls_context(
    trusted: PemStore | None, own: PemStore | None, *, checks_host_name: bool
) -> TlsContext:
    """Return a context for TLS 1.2 and later.

    ``trusted``: None for the system's authorities. ``own``: the client's chain and key, if any.
    Raises ConfigError for certificates that cannot be used.
    """
    context = TlsContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = checks_host_name
    if trusted is None:
        context.load_default_certs()
    else:
        _load_authorities(context, trusted.certificates)
    if own is not None and own.key is not None:
        _load_chain(context, own.key + own.certificates)
    return context


def _load_authorities(context: ssl.SSLContext, pem: str) -> None:
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise ConfigError("the trust store contains no certificate that can be used") from None


def _load_chain(context: ssl.SSLContext, pem: str) -> None:
    """Load key and chain. Python reads them from a path only: this one leads to memory.

    No file with a key can be read by others, survive the process, or be swept away.
    """
    handle = os.memfd_create("isthmus-key")
    with os.fdopen(handle, "w") as file:
        file.write(pem)
        file.flush()
        try:
            context.load_cert_chain(f"/proc/self/fd/{handle}")
        except ssl.SSLError as error:
            why = error.reason or "no certificate"
            raise ConfigError(
                f"the key store's key and certificate do not belong together ({why})"
            ) from None
