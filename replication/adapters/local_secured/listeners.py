"""The server properties of a broker whose clients log in, one way for each cluster. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from replication.adapters.local.broker_config import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from replication.adapters.local.broker_config import Node

ADMIN, BROKER = "admin", "broker"  # users that may do all: an administrator, and the brokers
MODULES = "org.apache.kafka.common.security"
OAUTH_MODULE = f"{MODULES}.oauthbearer.OAuthBearerLoginModule"
SCRAM_MODULE = f"{MODULES}.scram.ScramLoginModule"
AUDIENCE, ISSUER = "kafka", "isthmus-dev"  # of tokens


class Security(StrEnum):
    """How clients log in at a cluster."""

    SASL_SSL = "sasl_ssl"  # TLS, and SCRAM-SHA-512
    SSL = "ssl"  # TLS alone: everybody is User:ANONYMOUS
    MTLS = "mtls"  # TLS, and a certificate of the client
    OAUTH = "oauth"  # TLS, and a token


PROTOCOLS = {
    Security.SASL_SSL: "SASL_SSL",
    Security.SSL: "SSL",
    Security.MTLS: "SSL",
    Security.OAUTH: "SASL_SSL",
}


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """What a broker reads: PEM files, and the key that it checks tokens with.

    A JVM that has just started takes seconds to open a PKCS12 file.
    """

    key: Path  # without a password: it would stand beside it
    trusted: Path
    token_keys: Path


def secured_listeners(
    security: Security, node: Node, admin_port: int, files: ServerFiles
) -> dict[str, str]:
    """Return what replaces the plain listeners of a broker.

    Clients come to ``node.port``. The administrator and the brokers come to ``admin_port``, with a
    certificate each; so does a broker to a controller.
    """
    clients = PROTOCOLS[security]
    return {
        "listeners": f"CLIENTS://{HOST}:{node.port},ADMIN://{HOST}:{admin_port},"
        f"CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"CLIENTS://{HOST}:{node.port},ADMIN://{HOST}:{admin_port}",
        "listener.security.protocol.map": f"CLIENTS:{clients},ADMIN:SSL,CONTROLLER:SSL",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "ADMIN",
        "listener.name.clients.ssl.client.auth": (
            "required" if security is Security.MTLS else "none"
        ),
        "listener.name.admin.ssl.client.auth": "required",
        "listener.name.controller.ssl.client.auth": "required",
        **_stores(files),
        **_authorizer(),
        **_sasl(security, files.token_keys),
    }


def system_properties(security: Security, files: ServerFiles) -> Mapping[str, str]:
    """Return the system properties that the broker's JVM needs."""
    if security is not Security.OAUTH:
        return {}
    return {"org.apache.kafka.sasl.oauthbearer.allowed.urls": files.token_keys.as_uri()}


def _stores(files: ServerFiles) -> dict[str, str]:
    return {
        "ssl.keystore.location": str(files.key),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(files.trusted),
        "ssl.truststore.type": "PEM",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
    }


def _authorizer() -> dict[str, str]:
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:{BROKER}",
    }


def _sasl(security: Security, token_keys: Path) -> dict[str, str]:
    start = "listener.name.clients"
    match security:
        case Security.SASL_SSL:
            return {
                "sasl.enabled.mechanisms": "SCRAM-SHA-512",
                f"{start}.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            }
        case Security.OAUTH:
            return {
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                f"{start}.oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
                f"{start}.oauthbearer.sasl.server.callback.handler.class": (
                    f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
                ),
                "sasl.oauthbearer.jwks.endpoint.url": token_keys.as_uri(),
                "sasl.oauthbearer.expected.audience": AUDIENCE,
                "sasl.oauthbearer.expected.issuer": ISSUER,
            }
    return {}
