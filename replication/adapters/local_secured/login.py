"""The Java properties with which a user logs in at a secured cluster. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.local_secured.listeners import (
    OAUTH_MODULE,
    PROTOCOLS,
    SCRAM_MODULE,
    Security,
)
from replication.adapters.local_secured.secret_file import STORES, placeholder
from replication.adapters.local_secured.store_files import TYPES

if TYPE_CHECKING:
    from pathlib import Path

TRUST_STORE = "truststore"  # of every user, with each suffix of ``TYPES``


def login(security: Security, user: str, folder: Path, token_url: str = "") -> dict[str, str]:
    """Return all properties but ``bootstrap.servers``; secrets are placeholders.

    Their file and the stores are in ``folder``.
    """
    found = {"security.protocol": PROTOCOLS[security], **_store(folder, TRUST_STORE, "truststore")}
    secret = placeholder(folder, user)
    match security:
        case Security.SASL_SSL:
            line = f'{SCRAM_MODULE} required username="{user}" password="{secret}";'
            found |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": line}
        case Security.OAUTH:
            line = f'{OAUTH_MODULE} required clientId="{user}" clientSecret="{secret}";'
            found |= {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": token_url,
                "sasl.jaas.config": line,
            }
        case Security.MTLS:
            found |= _store(folder, user, "keystore")
    return found


def principal(security: Security, user: str) -> str:
    """Return whom the brokers take ``user`` for."""
    return "User:ANONYMOUS" if security is Security.SSL else f"User:{user}"


def _store(folder: Path, name: str, kind: str) -> dict[str, str]:
    suffix = ".jks"  # Java, and so most files of operators
    return {
        f"ssl.{kind}.location": str(folder / f"{name}{suffix}"),
        f"ssl.{kind}.type": TYPES[suffix],
        f"ssl.{kind}.password": placeholder(folder, STORES),
    }
