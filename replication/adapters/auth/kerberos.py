"""Logs in with Kerberos (SASL/GSSAPI): each principal with tickets of its own.

The package gssapi is optional: it is imported where somebody logs in. kafka-python takes tickets
from the process' default cache alone, so its mechanism is replaced by one that has a login's own.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.gssapi import SaslMechanismGSSAPI

from replication.errors import ClusterUnavailable, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNREACHABLE = {-1765328228, -1765328355}  # KRB5_KDC_UNREACH, KRB5KDC_ERR_SVC_UNAVAILABLE
_CACHE = "KRB5CCNAME"
_SOURCE_BUILD = (
    "sasl.mechanism = GSSAPI needs a confluent-kafka that is built with Kerberos, which its wheels "
    "are not: pip install --no-binary confluent-kafka confluent-kafka, where librdkafka is "
    "installed with libsasl2"
)


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """Whose tickets a client shows, and to which service of a broker's host."""

    service: str
    principal: str = ""  # empty: the ticket cache's
    keytab: str = ""  # empty: tickets are in a cache, and somebody else renews them
    ticket_cache: str = ""  # empty: the default one

    @classmethod
    def of(cls, options: Mapping[str, str], service: str) -> KerberosLogin:
        """Return what options of Java's ``Krb5LoginModule`` say. Raises ConfigError."""
        service = service.strip() or options.get("serviceName", "")
        if not service:
            raise ConfigError(
                "sasl.mechanism = GSSAPI needs sasl.kerberos.service.name, the name before the "
                "slash in the brokers' principals, such as kafka"
            )
        found = cls(
            service,
            options.get("principal", ""),
            options.get("keyTab", ""),
            options.get("ticketCache", ""),
        )
        if found.keytab and not found.principal:
            raise ConfigError("sasl.jaas.config has a keyTab, but no principal")
        return found

    def credentials(self) -> Any:
        """Return credentials of the principal, whose tickets GSSAPI requests as they are needed."""
        import gssapi  # noqa: PLC0415 -- as in the module's docstring

        name = None
        if self.principal:
            name = gssapi.Name(self.principal, gssapi.NameType.kerberos_principal)
        store: dict[bytes | str, bytes | str] = {}
        if self.keytab:
            digest = hashlib.sha256(repr(self).encode()).hexdigest()[:16]
            store = {"client_keytab": f"FILE:{self.keytab}", "ccache": f"MEMORY:isthmus-{digest}"}
        elif self.ticket_cache:
            store = {"ccache": f"FILE:{self.ticket_cache}"}
        return gssapi.Credentials(name=name, usage="initiate", store=store or None)

    def for_librdkafka(self) -> dict[str, Any]:
        """Return librdkafka's settings: it runs ``kinit`` once a minute. Raises ConfigError."""
        if not librdkafka_has_kerberos():
            raise ConfigError(_SOURCE_BUILD)
        found = {"sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": self.service}
        if not self.keytab:
            return {**found, "sasl.kerberos.min.time.before.relogin": 0}
        _own_ticket_caches(self.principal)
        return {
            **found,
            "sasl.kerberos.principal": self.principal,
            "sasl.kerberos.keytab": self.keytab,
        }


class _Kerberos(SaslMechanismGSSAPI):  # type: ignore[misc]  # it has no types
    """The mechanism with the tickets of a ``KerberosLogin``, which comes as its name."""

    def __init__(self, *, host: str, sasl_kerberos_name: KerberosLogin, **_: object) -> None:
        import gssapi  # noqa: PLC0415 -- as in the module's docstring
        from gssapi.raw.misc import GSSError  # noqa: PLC0415

        login = sasl_kerberos_name
        self._is_done = self._is_authenticated = False
        self.auth_id = ""  # whom it acts for: the principal itself
        try:
            service = gssapi.Name(
                f"{login.service}@{host}", gssapi.NameType.hostbased_service
            ).canonicalize(gssapi.MechType.kerberos)
            self._client_ctx = gssapi.SecurityContext(
                name=service, creds=login.credentials(), usage="initiate"
            )
            self._next_token = self._client_ctx.step(None)
        except GSSError as error:
            raise _explained(error, login) from None

    def receive(self, auth_bytes: bytes) -> None:
        from gssapi.raw.misc import GSSError  # noqa: PLC0415 -- as in the module's docstring

        try:
            super().receive(auth_bytes)
        except GSSError as error:
            raise ConfigError(f"Kerberos: {_reason(error)}") from None


register_sasl_mechanism("GSSAPI", _Kerberos, overwrite=True)


def _explained(error: Any, login: KerberosLogin) -> ConfigError | ClusterUnavailable:
    whose = f" for {login.principal}" if login.principal else ""
    where = f" with the key table {login.keytab}" if login.keytab else ""
    code = error.min_code - (1 << 32) if error.min_code >= 1 << 31 else error.min_code
    kind = ClusterUnavailable if code in _UNREACHABLE else ConfigError
    return kind(f"Kerberos: no ticket{whose}{where}: {_reason(error)}")


def _reason(error: Any) -> str:
    """Return Kerberos' own words, without GSSAPI's before them."""
    return str(error.gen_message()).rpartition("): ")[2]


@cache
def librdkafka_has_kerberos() -> bool:
    """Say whether the librdkafka of this process was built with libsasl2."""
    try:
        AdminClient(
            {
                "bootstrap.servers": "127.0.0.1:1",
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "GSSAPI",
                "sasl.kerberos.min.time.before.relogin": 0,
                "log_level": 0,
            }
        )
    except KafkaException:
        return False
    return True


_OWNERS: dict[str, str] = {}  # of this process' tickets that librdkafka uses: realm -> principal


def _own_ticket_caches(principal: str) -> None:
    """Keep librdkafka's tickets in a folder of this process, one cache for each principal.

    librdkafka chooses one by the broker's realm. Raises ConfigError for a second principal of one
    realm: the wrong one would be shown.
    """
    realm = principal.partition("@")[2]
    if (owner := _OWNERS.setdefault(realm, principal)) != principal:
        raise ConfigError(
            f"{owner} and {principal} are of one Kerberos realm: librdkafka can show the tickets "
            "of one principal to all clusters of a realm; use one of them for both, or run the "
            "flows in processes of their own"
        )
    if _CACHE not in os.environ:
        folder = tempfile.mkdtemp(prefix="isthmus-tickets-")
        os.environ[_CACHE] = f"DIR:{folder}"
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
