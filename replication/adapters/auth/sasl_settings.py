"""Translates Java's ``sasl.*`` properties into settings of librdkafka and kafka-python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from replication.adapters.auth.msk_iam import IamLogin
from replication.adapters.auth.oauth import (
    ClientCredentials,
    TokenCallback,
    TokenProvider,
    UnsecuredTokenProvider,
)
from replication.config.file.jaas import Jaas, parse_jaas
from replication.config.file.sasl import missing_package, tokens_of_iam
from replication.config.file.values import sasl_mechanism
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.auth.kerberos import KerberosLogin

# How OAuth's client credentials are set: the key, then Kafka's and Strimzi's option of a JAAS line.
_CLIENT_ID = ("sasl.oauthbearer.client.credentials.client.id", "clientId", "oauth.client.id")
_CLIENT_SECRET = (
    "sasl.oauthbearer.client.credentials.client.secret",
    "clientSecret",
    "oauth.client.secret",
)
_SCOPE = ("sasl.oauthbearer.scope", "scope", "oauth.scope")


def mechanism_and_jaas(props: Mapping[str, str]) -> tuple[str, Jaas]:
    """Return the mechanism and its login module. Raises ConfigError."""
    mechanism = props.get("sasl.mechanism", "GSSAPI").strip().upper()
    try:
        mechanism = sasl_mechanism(mechanism)
    except ValueError as error:
        raise ConfigError(f"sasl.mechanism: {error}") from None
    if "sasl.jaas.config" not in props:
        raise ConfigError(f"sasl.mechanism = {mechanism} needs sasl.jaas.config")
    return mechanism, parse_jaas(props["sasl.jaas.config"])


def librdkafka_sasl(props: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's settings of a login. Raises ConfigError."""
    mechanism, jaas = mechanism_and_jaas(props)
    if mechanism == "GSSAPI":
        return _kerberos(props, jaas).for_librdkafka()
    match _token_source(props, mechanism, jaas):
        case None:
            username, password = _login(jaas)
            return {
                "sasl.mechanism": mechanism,
                "sasl.username": username,
                "sasl.password": password,
            }
        case ClientCredentials() as credentials:
            return _oidc(props, credentials)
        case IamLogin() as login:
            provider = TokenProvider(login)
            return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": TokenCallback(provider)}
        case principal:
            return {
                "sasl.mechanism": mechanism,
                "enable.sasl.oauthbearer.unsecure.jwt": True,
                "sasl.oauthbearer.config": f"principal={principal}",
            }


def kafka_python_sasl(props: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's settings of a login. Raises ConfigError."""
    mechanism, jaas = mechanism_and_jaas(props)
    if mechanism == "GSSAPI":
        return {"sasl_mechanism": "GSSAPI", "sasl_kerberos_name": _kerberos(props, jaas)}
    match _token_source(props, mechanism, jaas):
        case None:
            username, password = _login(jaas)
            return {
                "sasl_mechanism": mechanism,
                "sasl_plain_username": username,
                "sasl_plain_password": password,
            }
        case str() as principal:
            provider: Any = UnsecuredTokenProvider(principal)
        case source:
            provider = TokenProvider(source)
    return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": provider}


def _kerberos(props: Mapping[str, str], jaas: Jaas) -> KerberosLogin:
    if package := missing_package("GSSAPI"):
        raise ConfigError(f"sasl.mechanism = GSSAPI {package}")
    from replication.adapters.auth.kerberos import (  # noqa: PLC0415 -- it imports both libraries
        KerberosLogin,
    )

    return KerberosLogin.of(jaas.options, props.get("sasl.kerberos.service.name", ""))


def _token_source(
    props: Mapping[str, str], mechanism: str, jaas: Jaas
) -> ClientCredentials | IamLogin | str | None:
    """Return where tokens come from; text: the principal of unsecured ones; None: a password."""
    if tokens_of_iam(mechanism, props):
        if package := missing_package("AWS_MSK_IAM"):
            raise ConfigError(f"sasl.mechanism = {mechanism} {package}")
        return IamLogin.of(jaas.options, props["bootstrap.servers"])
    if mechanism == "OAUTHBEARER":
        return _credentials(props, jaas) or _principal(jaas)
    return None


def _login(jaas: Jaas) -> tuple[str, str]:
    try:
        return jaas.options["username"], jaas.options["password"]
    except KeyError as missing:
        raise ConfigError(f"sasl.jaas.config has no {missing.args[0]}") from None


def _oidc(props: Mapping[str, str], credentials: ClientCredentials) -> dict[str, Any]:
    optional = {
        "sasl.oauthbearer.scope": credentials.scope,
        "sasl.oauthbearer.sub.claim.name": props.get("sasl.oauthbearer.sub.claim.name"),
    }
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",  # librdkafka renews by itself, in a thread of its own
        "sasl.oauthbearer.token.endpoint.url": credentials.url,
        "sasl.oauthbearer.client.id": credentials.client_id,
        "sasl.oauthbearer.client.secret": credentials.secret,
        **{key: value for key, value in optional.items() if value},
    }


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
