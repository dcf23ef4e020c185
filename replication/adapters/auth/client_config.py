"""Translates Java client properties into settings of librdkafka and kafka-python.

Placeholders of config providers are resolved where a client is about to be built or a connection
to be opened, and not before: their values never travel in a plan, to a Spark worker or into a log.
Only what is needed to connect, and a few settings that mean the same, are passed on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from replication.adapters.auth.client_settings import ClientSettings
from replication.adapters.auth.key_stores import key_store, trust_store
from replication.adapters.auth.oauth import ClientCredentials
from replication.adapters.auth.tls_context import tls_context
from replication.config.file.jaas import Jaas, parse_jaas
from replication.config.file.providers import resolve_all
from replication.config.file.values import (
    SASL_MECHANISMS,
    SECURITY_PROTOCOLS,
    addresses,
    integer,
)
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

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

# How OAuth's client credentials are set: the key, then Kafka's and Strimzi's option of a JAAS line.
_CLIENT_ID = ("sasl.oauthbearer.client.credentials.client.id", "clientId", "oauth.client.id")
_CLIENT_SECRET = (
    "sasl.oauthbearer.client.credentials.client.secret",
    "clientSecret",
    "oauth.client.secret",
)
_SCOPE = ("sasl.oauthbearer.scope", "scope", "oauth.scope")


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
        result |= _librdkafka_sasl(props)
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
        result |= _kafka_python_sasl(props)
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
    trusted, own = trust_store(props), key_store(props)
    tls_context(trusted, own, checks_host_name=False)  # the same errors, and before it connects
    authorities = {"ssl.ca.pem": trusted.certificates} if trusted else {"ssl.ca.location": "probe"}
    result: dict[str, Any] = {
        **authorities,
        "ssl.endpoint.identification.algorithm": "https" if _checks_host_name(props) else "none",
    }
    if own is not None and own.key is not None:
        result["ssl.certificate.pem"] = own.certificates
        result["ssl.key.pem"] = own.key
    return result


def _kafka_python_tls(props: Mapping[str, str]) -> dict[str, Any]:
    checks = _checks_host_name(props)
    return {
        "ssl_check_hostname": checks,
        "ssl_context": tls_context(trust_store(props), key_store(props), checks_host_name=checks),
    }


def _mechanism(props: Mapping[str, str]) -> tuple[str, Jaas]:
    mechanism = props.get("sasl.mechanism", "GSSAPI").strip().upper()
    if mechanism not in SASL_MECHANISMS:
        known = ", ".join(SASL_MECHANISMS)
        raise ConfigError(f"sasl.mechanism: {mechanism} is not supported; supported are {known}")
    if "sasl.jaas.config" not in props:
        raise ConfigError(f"sasl.mechanism = {mechanism} needs sasl.jaas.config")
    return mechanism, parse_jaas(props["sasl.jaas.config"])


def _login(jaas: Jaas) -> tuple[str, str]:
    try:
        return jaas.options["username"], jaas.options["password"]
    except KeyError as missing:
        raise ConfigError(f"sasl.jaas.config has no {missing.args[0]}") from None


def _librdkafka_sasl(props: Mapping[str, str]) -> dict[str, Any]:
    mechanism, jaas = _mechanism(props)
    if mechanism != "OAUTHBEARER":
        username, password = _login(jaas)
        return {
            "sasl.mechanism": mechanism,
            "sasl.username": username,
            "sasl.password": password,
        }
    credentials = _credentials(props, jaas)
    if credentials is None:
        return {
            "sasl.mechanism": mechanism,
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": f"principal={_principal(jaas)}",
        }
    optional = {
        "sasl.oauthbearer.scope": credentials.scope,
        "sasl.oauthbearer.sub.claim.name": props.get("sasl.oauthbearer.sub.claim.name"),
    }
    return {
        "sasl.mechanism": mechanism,
        "sasl.oauthbearer.method": "oidc",  # librdkafka renews by itself, in a thread of its own
        "sasl.oauthbearer.token.endpoint.url": credentials.url,
        "sasl.oauthbearer.client.id": credentials.client_id,
        "sasl.oauthbearer.client.secret": credentials.secret,
        **{key: value for key, value in optional.items() if value},
    }


def _kafka_python_sasl(props: Mapping[str, str]) -> dict[str, Any]:
    mechanism, jaas = _mechanism(props)
    if mechanism != "OAUTHBEARER":
        username, password = _login(jaas)
        return {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": username,
            "sasl_plain_password": password,
        }
    from replication.adapters.auth.oauth import (  # noqa: PLC0415 -- kafka-python is slow to import
        TokenProvider,
        UnsecuredTokenProvider,
    )

    credentials = _credentials(props, jaas)
    provider = (
        UnsecuredTokenProvider(_principal(jaas))
        if credentials is None
        else TokenProvider(credentials)
    )
    return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": provider}


def _credentials(props: Mapping[str, str], jaas: Jaas) -> ClientCredentials | None:
    """Return how to get a token; None: the line asks for unsecured tokens."""
    url = props.get("sasl.oauthbearer.token.endpoint.url", "").strip()
    if not url:
        url = jaas.options.get("oauth.token.endpoint.uri", "")
    if not url:
        return None
    client_id, secret, scope = (
        _oauth_option(props, jaas, *each) for each in (_CLIENT_ID, _CLIENT_SECRET, _SCOPE)
    )
    if not client_id or not secret:
        raise ConfigError(
            f"the token end-point needs {_CLIENT_ID[0]} and {_CLIENT_SECRET[0]}, "
            "or clientId and clientSecret in sasl.jaas.config"
        )
    if props.get("sasl.oauthbearer.header.urlencode", "").strip().lower() == "true":
        client_id, secret = quote_plus(client_id), quote_plus(secret)
    return ClientCredentials(url, client_id, secret, scope)


def _oauth_option(props: Mapping[str, str], jaas: Jaas, key: str, *options: str) -> str:
    """Return a setting of its own, as for Java's clients before an option of the JAAS line."""
    found = (props.get(key), *(jaas.options.get(each) for each in options))
    return next((each for each in found if each), "")


def _principal(jaas: Jaas) -> str:
    principal = jaas.options.get("unsecuredLoginStringClaim_sub")
    if principal is None:
        raise ConfigError(
            "OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url with "
            f"{_CLIENT_ID[0]} and {_CLIENT_SECRET[0]}, or unsecuredLoginStringClaim_sub in "
            "sasl.jaas.config for a test cluster"
        )
    return principal


def user_of(java: Mapping[str, str]) -> str:
    """Return who these settings log in as; empty where a certificate or a token says so."""
    if not java.get("security.protocol", "").strip().upper().startswith("SASL"):
        return ""
    try:
        return _mechanism(resolve_all(java))[1].options.get("username", "")
    except ConfigError:
        return ""  # reported where it is needed for a connection
