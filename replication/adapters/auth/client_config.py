"""Translates Java client properties into settings of librdkafka and kafka-python.

Placeholders of config providers are resolved where a client is about to be built or a connection
to be opened, and not before: their values never travel in a plan, to a Spark worker or into a log.
Only what is needed to connect, and a few settings that mean the same, are passed on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from replication.adapters.auth.client_settings import ClientSettings
from replication.adapters.auth.key_stores import key_store, trust_store
from replication.adapters.auth.sasl_settings import (
    kafka_python_sasl,
    librdkafka_sasl,
    mechanism_and_jaas,
)
from replication.adapters.auth.tls_context import tls_context
from replication.config.file.providers import resolve_all
from replication.config.file.tls_limits import tls_limits
from replication.config.file.values import SECURITY_PROTOCOLS, addresses, integer
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.auth.tls_context import TlsContext

# Settings that mean the same: Java's name -> (librdkafka's, kafka-python's).
_SAME = {
    "request.timeout.ms": ("socket.timeout.ms", "request_timeout_ms"),
    "connections.max.idle.ms": ("connections.max.idle.ms", "connections_max_idle_ms"),
    "reconnect.backoff.ms": ("reconnect.backoff.ms", "reconnect_backoff_ms"),
    "reconnect.backoff.max.ms": ("reconnect.backoff.max.ms", "reconnect_backoff_max_ms"),
    "metadata.max.age.ms": ("metadata.max.age.ms", "metadata_max_age_ms"),
}
_LIMIT_MS = {"socket.timeout.ms": 300_000, "reconnect.backoff.ms": 3_600_000,
             "reconnect.backoff.max.ms": 3_600_000, "metadata.max.age.ms": 86_400_000}  # fmt: skip


def to_librdkafka(java: Mapping[str, str]) -> ClientSettings:
    """Return settings for a confluent-kafka client. Raises ConfigError."""
    return ClientSettings(java, _librdkafka)


def to_kafka_python(java: Mapping[str, str]) -> ClientSettings:
    """Return connection arguments for kafka-python's clients. Raises ConfigError."""
    return ClientSettings(java, _kafka_python)


def _librdkafka(props: Mapping[str, str]) -> dict[str, Any]:
    protocol = _protocol(props)
    result: dict[str, Any] = {
        "bootstrap.servers": ",".join(_servers(props)),
        "security.protocol": protocol.lower(),
        **_tuning(props, 0),
    }
    if client_id := props.get("client.id"):
        result["client.id"] = client_id
    if protocol.endswith("SSL"):
        result |= _librdkafka_tls(props)
    if protocol.startswith("SASL"):
        result |= librdkafka_sasl(props)
    return result


def _kafka_python(props: Mapping[str, str]) -> dict[str, Any]:
    protocol = _protocol(props)
    result: dict[str, Any] = {
        "bootstrap_servers": list(_servers(props)),
        "security_protocol": protocol,
        **_tuning(props, 1),
    }
    if client_id := props.get("client.id"):
        result["client_id"] = client_id
    if protocol.endswith("SSL"):
        result |= _kafka_python_tls(props)
    if protocol.startswith("SASL"):
        result |= kafka_python_sasl(props)
    return result


def _servers(props: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return addresses(props.get("bootstrap.servers", ""))
    except ValueError as error:
        raise ConfigError(f"bootstrap.servers {error}") from None


def _protocol(props: Mapping[str, str]) -> str:
    protocol = props.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise ConfigError(f"security.protocol must be one of {', '.join(SECURITY_PROTOCOLS)}")
    return protocol


def _tuning(props: Mapping[str, str], library: int) -> dict[str, int]:
    result = {}
    for java, names in _SAME.items():
        if java in props:
            try:
                number = integer(props[java], least=0)
            except ValueError as error:
                raise ConfigError(f"{java}: {error}") from None
            name = names[library]
            result[name] = min(number, _LIMIT_MS.get(name, 2**31 - 1))
    return result


def _checks_host_name(props: Mapping[str, str]) -> bool:
    """An empty ``ssl.endpoint.identification.algorithm`` means: any host name will do."""
    return props.get("ssl.endpoint.identification.algorithm", "https").strip().lower() == "https"


def _librdkafka_tls(props: Mapping[str, str]) -> dict[str, Any]:
    trusted, own, limits = trust_store(props), key_store(props), tls_limits(props)
    tls_context(trusted, own, checks_host_name=False)  # the same errors, and before it connects
    authorities = {"ssl.ca.pem": trusted.certificates} if trusted else {"ssl.ca.location": "probe"}
    result: dict[str, Any] = {
        **authorities,
        "ssl.endpoint.identification.algorithm": "https" if _checks_host_name(props) else "none",
        **limits.for_librdkafka,
    }
    if own is not None and own.key is not None:
        result["ssl.certificate.pem"] = own.certificates
        result["ssl.key.pem"] = own.key
    return result


def tls_of(props: Mapping[str, str]) -> TlsContext:
    """Return the context of a client's ``ssl.*`` settings. Raises ConfigError."""
    checks = _checks_host_name(props)
    context = tls_context(trust_store(props), key_store(props), checks_host_name=checks)
    context.use(tls_limits(props))
    return context


def _kafka_python_tls(props: Mapping[str, str]) -> dict[str, Any]:
    return {"ssl_check_hostname": _checks_host_name(props), "ssl_context": tls_of(props)}


def user_of(java: Mapping[str, str]) -> str:
    """Return who these settings log in as; empty where a certificate or a token says so."""
    if not java.get("security.protocol", "").strip().upper().startswith("SASL"):
        return ""
    try:
        options = mechanism_and_jaas(resolve_all(java))[1].options
    except ConfigError:
        return ""  # reported where it is needed for a connection
    primary = re.split("[/@]", options.get("principal", ""))[0]  # Kafka's own rule by default
    return options.get("username", "") or primary
